#include "support/fake_gpus.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace tune::test {

FakeGpus::FakeGpus(const std::string& text) : FakeGpus(text, TUNE_FAKE_NVML) {}

FakeGpus::FakeGpus(const std::string& text, const std::string& library) {
  write(text);
  set("TUNE_NVML_LIBRARY", library);
  set("FAKE_NVML", folder_.path() / "gpus");
  set("FAKE_NVML_ASKED", folder_.path() / "asked");
  set("FAKE_NVML_STARTED", folder_.path() / "started");
}

FakeGpus FakeGpus::without_library() { return {std::string(), "/no_such_library.so"}; }

FakeGpus::~FakeGpus() {
  for (const auto& [name, value] : before_) {
    if (value.empty()) {
      ::unsetenv(name.c_str());
    } else {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
}

// Whole or not at all: others may be reading it.
void FakeGpus::write(const std::string& text) const {
  const auto file = folder_.path() / "gpus";
  const auto part = folder_.path() / "part";
  std::ofstream(part) << text;
  std::filesystem::rename(part, file);
}

std::size_t FakeGpus::questions() const { return count_of("asked"); }
std::size_t FakeGpus::starts() const { return count_of("started"); }

std::size_t FakeGpus::count_of(const char* file) const {
  std::error_code none_yet;
  const auto size = std::filesystem::file_size(folder_.path() / file, none_yet);
  return none_yet ? 0 : static_cast<std::size_t>(size);
}

void FakeGpus::set(const char* name, const std::string& value) {
  const char* const before = std::getenv(name);
  before_.emplace_back(name, before == nullptr ? "" : before);
  ::setenv(name, value.c_str(), 1);
}

}  // namespace tune::test
