#pragma once

#include <cstdint>
#include <string>

#include <tune/resources.hpp>

namespace tune::runtime {

/// Who and where this process is, for the records.
struct Host {
  std::string name;
  std::string ip;  ///< The address of a network interface that is up; "127.0.0.1" if there is none.
  std::int64_t pid = 0;
};
[[nodiscard]] Host local_host();

/// What this machine offers: what is not given is discovered, cores by the process's affinity.
/// @throws std::invalid_argument as ResourceAmounts.
[[nodiscard]] ResourceAmounts local_capacity(LocalResources local);

}  // namespace tune::runtime
