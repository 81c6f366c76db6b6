#pragma once

#include <netdb.h>

#include <memory>
#include <string>

#include <tune/error.hpp>

#include "runtime/host_port.hpp"

namespace tune::runtime {

struct AddressListFree {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressListFree>;

/// The addresses that a name and a port stand for; at least one.
[[nodiscard]] Expected<AddressList> resolve(const HostPort& address);

/// Of the other side, without its port: "10.0.0.3".
[[nodiscard]] std::string peer_address(int socket);

}  // namespace tune::runtime
