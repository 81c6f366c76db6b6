#pragma once

#include <netdb.h>

#include <memory>

#include <tune/error.hpp>

#include "runtime/host_port.hpp"

namespace tune::runtime {

struct AddressListFree {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressListFree>;

/// The addresses that a name and a port stand for; at least one.
[[nodiscard]] Expected<AddressList> resolve(const HostPort& address);

}  // namespace tune::runtime
