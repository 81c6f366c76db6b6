#include "saved_state.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <regex>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/json_text.hpp"

namespace tune::runtime {
namespace {

constexpr const char* files_directory = "artifacts";
constexpr std::size_t longest_name = 100;

void check_save_name(const std::string& name) {
  const bool is_fit = !name.empty() && name.size() <= longest_name && name.front() != '.' &&
                      std::all_of(name.begin(), name.end(), [](char c) {
                        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                               (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
                      });
  if (is_fit) return;
  std::string quoted;
  core::append_json_text(quoted, name);
  throw std::invalid_argument("track::save: name " + quoted +
                              ": must be 1 to 100 letters, digits, '_', '-' and '.', not beginning "
                              "with '.'");
}

std::uint64_t checked_size(const std::string& name, const Json& value) {
  const std::uint64_t size = core::exact_text(value).json.size();
  if (size <= SavedState::max_value_bytes) return size;
  throw std::invalid_argument("track::save: " + name + ": the value has " + std::to_string(size) +
                              " bytes of JSON text, at most " +
                              std::to_string(SavedState::max_value_bytes) +
                              " are allowed; give what is large to a writer");
}

// "<name>_000007", "<name>_000007_2-1", or one that is not whole.
bool is_name_of_files(const std::string& name) {
  static const std::regex of_files("[A-Za-z0-9_-][A-Za-z0-9_.-]*_[0-9]{6,}(_[0-9]+)?(-[0-9]+)?");
  return name.starts_with(store::CheckpointStore::temporary_prefix) ||
         std::regex_match(name, of_files);
}

template <class T>
T value_or_throw(Expected<T> expected) {
  if (!expected) throw std::runtime_error("track::save: " + expected.error().message);
  return std::move(expected).value();
}

}  // namespace

SavedState::SavedState(const engine::Launch& launch, std::int64_t checkpoints_kept)
    : trial_name_(launch.trial_name),
      incarnation_(launch.incarnation),
      checkpoints_kept_(static_cast<std::size_t>(std::max<std::int64_t>(checkpoints_kept, 1))) {
  for (const engine::SavedValue& saved : launch.saves) {
    on_record_.insert(saved.directory_name);
    if (saved.index > launch.start_iteration) continue;  // makes way for the next result
    (void)values_.put(saved);
    iterations_.push_back(saved.index);
  }
  std::sort(iterations_.begin(), iterations_.end());
}

void SavedState::clean(const store::CheckpointStore& store) const {
  std::error_code ignored;  // they cost space, and nothing else
  std::vector<std::string> left_over;
  const std::filesystem::path directory = store.path(trial_name_, files_directory);
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory(ignored) || !is_name_of_files(name)) continue;  // another's
    std::string place = std::string(files_directory) + '/' + name;
    if (!on_record_.contains(place)) left_over.push_back(std::move(place));
  }
  for (const std::string& name : left_over) (void)store.remove(trial_name_, name);
}

engine::SavedValue SavedState::save(const std::string& name, const Json& value, std::int64_t index,
                                    const track::Writer& writer,
                                    const store::CheckpointStore& store) {
  check_save_name(name);
  engine::SavedValue saved;
  saved.name = name;
  saved.index = index;
  saved.size_bytes = checked_size(name, value);
  if (const std::uint64_t others = values_.newest_bytes_without(name);
      others + saved.size_bytes > max_total_bytes) {
    throw std::invalid_argument("track::save: " + name + ": all values together have " +
                                std::to_string(others + saved.size_bytes) +
                                " bytes of JSON text, at most " + std::to_string(max_total_bytes) +
                                " are allowed; give what is large to a writer");
  }
  saved.value = std::make_shared<const Json>(value);
  if (writer) {
    saved.directory_name = new_directory_name(name, index);
    store::PendingCheckpoint pending =
        value_or_throw(store.begin(trial_name_, saved.directory_name));
    writer(pending.path());
    saved.files =
        std::make_shared<const core::CheckpointManifest>(value_or_throw(pending.commit()));
  }
  (void)values_.put(saved);
  std::vector<std::int64_t> iterations = iterations_;
  iterations.push_back(index);
  (void)values_.keep_for(iterations);
  return saved;
}

// No name ever means two of them, one of which may still be about to be deleted.
std::string SavedState::new_directory_name(const std::string& name, std::int64_t index) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "_%06lld", static_cast<long long>(index));
  std::string directory = std::string(files_directory) + '/' + name + digits.data();
  if (incarnation_ > 1) directory += '_' + std::to_string(incarnation_);
  const auto [last, is_first] = last_written_.try_emplace(name, index);
  if (!is_first && index <= last->second) directory += '-' + std::to_string(++repeats_);
  last->second = std::max(last->second, index);
  return directory;
}

std::optional<track::Saved> SavedState::load(const std::string& name,
                                             const store::CheckpointStore& store) const {
  const engine::SavedValue* const saved = values_.newest(name);
  if (saved == nullptr) return std::nullopt;
  track::Saved loaded{*saved->value, saved->index, std::nullopt};
  if (saved->directory_name.empty()) return loaded;
  if (saved->files) {
    const Expected<void> verified = store.verify(trial_name_, saved->directory_name, *saved->files);
    if (!verified) {
      throw std::runtime_error("track::load: " + name + ": " + verified.error().message);
    }
  }
  loaded.files = store.path(trial_name_, saved->directory_name);
  return loaded;
}

void SavedState::note_checkpoint(std::int64_t iteration) {
  iterations_.push_back(iteration);
  while (iterations_.size() > checkpoints_kept_) iterations_.erase(iterations_.begin());
}

void SavedState::go_back(std::int64_t iteration) { (void)values_.drop_from(iteration + 1); }

}  // namespace tune::runtime
