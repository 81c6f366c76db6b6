#pragma once

#include <cstddef>
#include <string>

#include "support/environment_variable.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {

/// As long as it lives, this process and those that it starts find the GPUs of a fake NVML.
class FakeGpus {
 public:
  /// @param text see tests/support/fake_nvml.cpp
  explicit FakeGpus(const std::string& text);
  /// A machine without NVIDIA's library.
  [[nodiscard]] static FakeGpus without_library();
  FakeGpus(const FakeGpus&) = delete;
  FakeGpus& operator=(const FakeGpus&) = delete;

  void write(const std::string& text) const;
  /// How often it was asked who computes on a GPU.
  [[nodiscard]] std::size_t questions() const;
  /// How often NVML was started.
  [[nodiscard]] std::size_t starts() const;

 private:
  FakeGpus(const std::string& text, const std::string& library);
  [[nodiscard]] std::size_t count_of(const char* file) const;

  TemporaryFolder folder_;
  EnvironmentVariable library_;
  EnvironmentVariable gpus_{"FAKE_NVML", (folder_.path() / "gpus").string()};
  EnvironmentVariable asked_{"FAKE_NVML_ASKED", (folder_.path() / "asked").string()};
  EnvironmentVariable started_{"FAKE_NVML_STARTED", (folder_.path() / "started").string()};
};

}  // namespace tune::test
