#include "support/fake_gpus.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace tune::test {

FakeGpus::FakeGpus(const std::string& text) : FakeGpus(text, TUNE_FAKE_NVML) {}

FakeGpus::FakeGpus(const std::string& text, const std::string& library)
    : library_("TUNE_NVML_LIBRARY", library) {
  write(text);
}

FakeGpus FakeGpus::without_library() { return {std::string(), "/no_such_library.so"}; }

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

}  // namespace tune::test
