#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "support/temporary_folder.hpp"

namespace tune::test {

/// As long as it lives, this process and those that it starts find the GPUs of a fake NVML.
class FakeGpus {
 public:
  /// @param text see tests/support/fake_nvml.cpp
  explicit FakeGpus(const std::string& text);
  /// A machine without NVIDIA's library.
  [[nodiscard]] static FakeGpus without_library();
  ~FakeGpus();
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
  void set(const char* name, const std::string& value);

  TemporaryFolder folder_;
  std::vector<std::pair<std::string, std::string>> before_;  // empty: it was not set
};

}  // namespace tune::test
