#pragma once

#include <cstdint>
#include <string>

namespace tune::runtime {

/// Where a driver listens.
struct HostPort {
  std::string host;  ///< A name or an address; an IPv6 address without brackets.
  std::uint16_t port = 0;
  /// "host:7700", "[::1]:7700".
  [[nodiscard]] std::string text() const;
};

/// Reads "HOST:PORT"; an IPv6 address stands in brackets.
/// @throws std::invalid_argument naming what is wanted.
[[nodiscard]] HostPort parse_host_port(const std::string& text);

/// True if each address that the name stands for is of this machine alone.
[[nodiscard]] bool is_loopback(const std::string& host);

}  // namespace tune::runtime
