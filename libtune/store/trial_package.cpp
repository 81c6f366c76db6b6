#include "store/trial_package.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "durable.hpp"
#include "open_file.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* files_in_package = "files";
constexpr const char* workers_directory = "workers";  // what a trial's parallel workers print
constexpr std::array output_names{"stdout", "stderr"};

/// Whether a file of the trial's directory travels in packages: the training code made it.
bool is_of_training_code(const std::string& name) {
  constexpr std::array others{"stdout",      "stderr",       "artifacts", "params.json",
                              "result.json", "progress.csv", "error.txt"};
  return !name.starts_with('.') && !name.starts_with("checkpoint_") &&
         !name.starts_with(package_prefix) &&
         std::find(others.begin(), others.end(), name) == others.end();
}

bool travels_at_end(const std::string& name) {
  return is_of_training_code(name) && name != workers_directory;
}

/// The driver's own file of events is not replaced by another's of the same name.
bool is_file_of_events(const std::string& name) { return name.starts_with("events.out.tfevents."); }

Expected<std::uint64_t> size_of(const OpenFile& file, const fs::path& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return errno_error("cannot read", path, errno);
  return static_cast<std::uint64_t>(status.st_size);
}

/// Copies what `from` has behind `offset` to the end of `to`; how many bytes that were.
Expected<std::uint64_t> append_rest(const fs::path& from, std::uint64_t offset,
                                    const fs::path& to) {
  constexpr mode_t for_everybody = 0666;
  const auto in = open_below(from.parent_path(), from.filename().string(), O_RDONLY);
  if (!in) return in.error();
  const auto out =
      open_below(to.parent_path(), to.filename().string(), O_WRONLY | O_CREAT, for_everybody);
  if (!out) return out.error();
  const auto begin = size_of(*out, to);
  if (!begin) return begin.error();
  std::array<char, 64U << 10U> buffer;
  std::uint64_t copied = 0;
  while (true) {
    const auto count = read_at(*in, offset + copied, buffer, from);
    if (!count) return count.error();
    if (*count == 0) return copied;
    const auto written = write_at(*out, *begin + copied, {buffer.data(), *count}, to);
    if (!written) return written.error();
    copied += *count;
  }
}

/// Packs the new output of one stream; how many bytes there were.
Expected<std::uint64_t> pack_output(const fs::path& trial, const fs::path& package,
                                    const char* name, std::uint64_t before) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(trial / name, error);
  if (error || size <= before) return std::uint64_t{0};
  return append_rest(trial / name, before, package / name);
}

/// Links may lead anywhere; they stay where they were.
Expected<void> remove_links(const fs::path& directory) {
  std::vector<fs::path> links;
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_symlink(error)) links.push_back(it->path());
  }
  if (error) return errno_error("cannot read", directory, error.value());
  for (const fs::path& link : links) {
    fs::remove(link, error);
    if (error) return errno_error("cannot remove", link, error.value());
  }
  return {};
}

/// Whether there were any.
Expected<bool> pack_files(const fs::path& trial, const fs::path& package) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(trial, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (travels_at_end(name) && !it->is_symlink(error)) names.push_back(name);
  }
  if (error) return errno_error("cannot read", trial, error.value());
  if (names.empty()) return false;
  fs::create_directory(package / files_in_package, error);
  if (error) return errno_error("cannot make", package / files_in_package, error.value());
  for (const std::string& name : names) {
    fs::rename(trial / name, package / files_in_package / name, error);
    if (error) return errno_error("cannot move", trial / name, error.value());
  }
  if (const auto removed = remove_links(package / files_in_package); !removed) {
    return removed.error();
  }
  return true;
}

/// Where an older file of this name goes, so that a later start elsewhere, which knew nothing of
/// it, does not take its place.
fs::path older_name(const fs::path& path) {
  for (int number = 1;; ++number) {
    fs::path older = path;
    older += ".older_" + std::to_string(number);
    std::error_code error;
    if (!fs::exists(fs::symlink_status(older, error))) return older;
  }
}

Expected<void> unpack_file(const fs::path& trial, const fs::path& files, const fs::path& path) {
  const fs::path place = path.lexically_relative(files);
  const std::string first = place.begin()->string();
  if (!is_of_training_code(first)) return {};
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (error) return errno_error("cannot read", path, error.value());
  if (fs::is_directory(status)) {
    if (fs::is_symlink(fs::symlink_status(trial / place, error))) {
      return Error{ErrorCode::io, (trial / place).string() + " is a link, want a directory"};
    }
    fs::create_directory(trial / place, error);
    if (error) return errno_error("cannot make", trial / place, error.value());
  } else if (fs::is_regular_file(status)) {
    if (is_file_of_events(first) && fs::exists(trial / place, error)) return {};
    if (first == workers_directory) {
      const auto appended = append_rest(path, 0, trial / place);
      if (!appended) return appended.error();
      return {};
    }
    if (fs::exists(fs::symlink_status(trial / place, error))) {
      fs::rename(trial / place, older_name(trial / place), error);
      if (error) return errno_error("cannot rename", trial / place, error.value());
    }
    fs::rename(path, trial / place, error);
    if (error) return errno_error("cannot move to", trial / place, error.value());
  }
  return {};
}

Expected<void> unpack_files(const fs::path& trial, const fs::path& files) {
  std::vector<fs::path> paths;
  std::error_code error;
  if (!fs::exists(files, error)) return {};
  for (fs::recursive_directory_iterator it(files, error), end; !error && it != end;
       it.increment(error)) {
    paths.push_back(it->path());
  }
  if (error) return errno_error("cannot read", files, error.value());
  std::sort(paths.begin(), paths.end());  // a directory comes before what is in it
  for (const fs::path& path : paths) {
    if (const auto unpacked = unpack_file(trial, files, path); !unpacked) return unpacked;
  }
  return {};
}

Expected<void> unpack(const fs::path& trial, const fs::path& package) {
  for (const char* name : output_names) {
    std::error_code error;
    if (!fs::exists(package / name, error)) continue;
    const auto appended = append_rest(package / name, 0, trial / name);
    if (!appended) return appended.error();
  }
  return unpack_files(trial, package / files_in_package);
}

Expected<void> remove_directory(const fs::path& directory) {
  std::error_code error;
  fs::remove_all(directory, error);
  if (error) return errno_error("cannot remove", directory, error.value());
  return {};
}

Expected<PackedTrial> pack(const fs::path& trial, const fs::path& directory, OutputRead before,
                           bool takes_files) {
  std::error_code error;
  if (const auto removed = remove_directory(directory); !removed) return removed.error();
  fs::create_directory(directory, error);
  if (error) return errno_error("cannot make", directory, error.value());
  const auto out = pack_output(trial, directory, output_names[0], before.stdout_bytes);
  if (!out) return out.error();
  const auto err = pack_output(trial, directory, output_names[1], before.stderr_bytes);
  if (!err) return err.error();
  bool has_files = false;
  if (takes_files) {
    const auto packed = pack_files(trial, directory);
    if (!packed) return packed.error();
    has_files = *packed;
  }
  PackedTrial packed{*out + *err == 0 && !has_files,
                     {before.stdout_bytes + *out, before.stderr_bytes + *err}};
  if (!packed.is_empty) return packed;
  if (const auto removed = remove_directory(directory); !removed) return removed.error();
  return packed;
}

}  // namespace

Expected<PackedTrial> pack_trial(const fs::path& trial, const std::string& package,
                                 OutputRead before, bool takes_files) {
  std::error_code error;
  if (!fs::is_directory(trial, error)) return PackedTrial{.is_empty = true, .read = before};
  auto packed = pack(trial, trial / package, before, takes_files);
  // The next start here begins new ones, whatever became of these.
  for (const char* name : output_names) {
    if (takes_files) fs::remove(trial / name, error);
  }
  return packed;
}

Expected<PackedTrial> pack_worker(const fs::path& trial, const std::string& package,
                                  std::size_t rank) {
  const fs::path printed = trial / workers_directory / std::to_string(rank);
  std::error_code error;
  if (!fs::is_directory(printed, error)) return PackedTrial{.is_empty = true};
  const fs::path directory = trial / package;
  if (const auto removed = remove_directory(directory); !removed) return removed.error();
  const fs::path place = directory / files_in_package / workers_directory;
  fs::create_directories(place, error);
  if (error) return errno_error("cannot make", place, error.value());
  fs::rename(printed, place / std::to_string(rank), error);
  if (error) return errno_error("cannot move", printed, error.value());
  if (const auto removed = remove_links(place); !removed) return removed.error();
  return PackedTrial{};
}

Expected<void> unpack_trial(const fs::path& trial, const std::string& package) {
  const fs::path directory = trial / package;
  std::array<std::uintmax_t, output_names.size()> before{};
  std::error_code ignored;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::uintmax_t size = fs::file_size(trial / output_names[i], ignored);
    if (!ignored) before[i] = size;
  }
  const auto unpacked = unpack(trial, directory);
  const auto removed = remove_directory(directory);
  if (unpacked) return removed;
  for (std::size_t i = 0; i < before.size(); ++i) {
    fs::resize_file(trial / output_names[i], before[i], ignored);
  }
  return unpacked;
}

}  // namespace tune::store
