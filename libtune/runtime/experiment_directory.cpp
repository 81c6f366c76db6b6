#include "runtime/experiment_directory.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <random>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/number_text.hpp"
#include "store/journal.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view file_scheme = "file://";
// For what a killed program left behind to be gone: its guardian holds the lock until then.
constexpr std::chrono::seconds lock_patience{20};
constexpr const char* storage_variable = "TUNE_STORAGE_PATH";

fs::path home_directory(const std::string& field) {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return home;
  std::array<char, 4096> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found) {
    return found->pw_dir;
  }
  throw std::invalid_argument(field + ": there is no home directory; give a path without ~");
}

[[noreturn]] void refuse_storage(const std::string& field, const std::string& storage_path,
                                 const std::string& reason) {
  throw std::invalid_argument(field + " " + core::value_text(storage_path) + ": " + reason);
}

/// The byte that two hexadecimal digits at the start of `text` mean; empty if they are none.
std::optional<char> byte_of_digits(std::string_view text) {
  text = text.substr(0, 2);
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (text.size() < 2 || stop != end || error != std::errc{}) return std::nullopt;
  return static_cast<char>(static_cast<unsigned char>(value));
}

/// `text`, a part of `uri`, with the bytes that its escapes stand for (RFC 3986, section 2.1).
std::string decode_escapes(std::string_view text, const std::string& uri,
                           const std::string& field) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const std::optional<char> byte = byte_of_digits(text.substr(i + 1));
    if (!byte || *byte == '\0') {
      refuse_storage(field, uri,
                     core::value_text(std::string(text.substr(i, 3))) +
                         " is not an escape: allowed are '%' and two hexadecimal digits, "
                         "except %00; '%' itself is %25");
    }
    decoded += *byte;
    i += 2;
  }
  return decoded;
}

/// The path in "file:///path" or "file://localhost/path".
std::string path_of_file_uri(const std::string& uri, const std::string& field) {
  const std::size_t begin = uri.find('/', file_scheme.size());
  const std::string host = uri.substr(file_scheme.size(), begin - file_scheme.size());
  if (begin == std::string::npos || !(host.empty() || host == "localhost")) {
    refuse_storage(field, uri, "a file URI is file:///<absolute path>");
  }
  return decode_escapes(std::string_view(uri).substr(begin), uri, field);
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

/// Local time as "2026-01-02_03-04-05".
std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 64> text;
  std::strftime(text.data(), text.size(), "%Y-%m-%d_%H-%M-%S", &local);
  return text.data();
}

[[noreturn]] void refuse_directory(const fs::path& path, const std::string& reason) {
  throw std::invalid_argument("experiment directory " + path.string() + ": " + reason);
}

}  // namespace

fs::path resolve_storage(const std::string& storage_path) {
  std::string field = "storage_path";
  std::string path = storage_path;
  if (const char* variable = std::getenv(storage_variable); path.empty() && variable != nullptr) {
    field = storage_variable;
    path = variable;
  }
  if (path.empty()) path = "~/tune_results";
  const std::size_t scheme_end = path.find("://");
  if (path.starts_with(file_scheme)) {
    path = path_of_file_uri(path, field);
  } else if (scheme_end != std::string::npos && path.find('/') == scheme_end + 1) {
    refuse_storage(field, path,
                   "scheme " + core::value_text(path.substr(0, scheme_end)) +
                       " is not supported; allowed are a path and file://");
  } else if (path == "~") {
    path = home_directory(field).string();
  } else if (path.starts_with("~/")) {
    path = (home_directory(field) / path.substr(2)).string();
  } else if (path.starts_with('~')) {
    refuse_storage(field, path, "of the paths with ~ only ~/... is supported");
  }
  return fs::absolute(path).lexically_normal();
}

void check_experiment_name(const std::string& name) {
  const bool is_fit = name != "." && name != ".." && !name.starts_with('-') && name.size() <= 200 &&
                      std::none_of(name.begin(), name.end(), [](char c) {
                        return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
                      });
  if (is_fit) return;
  throw std::invalid_argument("name " + core::value_text(name) +
                              ": must be the name of one directory: at most 200 bytes, without '/' "
                              "and control characters, not '.' or '..', not beginning with '-'");
}

std::string default_experiment_name(const std::string& trainable) {
  std::string name = trainable.substr(0, 100);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_name_character(c); }, '_');
  if (name.starts_with('-') || name.starts_with('.')) name.front() = '_';
  std::array<char, 16> suffix;
  std::snprintf(suffix.data(), suffix.size(), "_%06x",
                static_cast<unsigned>(std::random_device{}() & 0xffffffU));
  return name + "_" + time_text() + suffix.data();
}

Contents look_into(const fs::path& experiment) {
  std::error_code error;
  const fs::file_status status = fs::status(experiment, error);
  if (!fs::exists(status)) return Contents::nothing;
  if (!fs::is_directory(status)) refuse_directory(experiment, "there is a file of that name");
  Contents contents = Contents::nothing;
  for (fs::directory_iterator it(experiment, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name == store::journal_file) return Contents::experiment;
    // A lock, or a journal that was not finished: somebody died before anything began.
    const bool is_of_no_account =
        name == store::lock_file || name.starts_with("." + std::string(store::journal_file));
    if (!is_of_no_account) contents = Contents::other;
  }
  if (error) refuse_directory(experiment, error.message());
  return contents;
}

DirectoryClaim::DirectoryClaim(fs::path experiment) : path_(std::move(experiment)) { lock(); }

DirectoryClaim::~DirectoryClaim() {
  if (lock_ && is_made_) undo();
}

void DirectoryClaim::lock() {
  std::error_code error;
  is_made_ = fs::create_directories(path_, error);
  if (error) refuse_directory(path_, "it cannot be made: " + error.message());
  Expected<store::DirectoryLock> lock = store::DirectoryLock::acquire(path_, lock_patience);
  if (!lock) throw std::invalid_argument(lock.error().message);
  lock_.emplace(std::move(lock).value());
}

// Who waits for the lock of a directory that goes finds it gone.
void DirectoryClaim::undo() {
  std::error_code ignored;
  fs::remove(path_ / store::lock_file, ignored);
  fs::remove(path_, ignored);
}

store::DirectoryLock DirectoryClaim::keep() {
  store::DirectoryLock lock = std::move(*lock_);
  lock_.reset();
  return lock;
}

fs::path DirectoryClaim::move_aside() {
  std::error_code error;
  const std::string stem = path_.string() + "." + time_text();
  fs::path aside = stem;
  for (int n = 2; fs::exists(aside, error); ++n) aside = stem + "." + std::to_string(n);
  fs::rename(path_, aside, error);
  if (error) refuse_directory(path_, "it cannot be moved aside: " + error.message());
  lock_.reset();
  lock();
  return aside;
}

}  // namespace tune::runtime
