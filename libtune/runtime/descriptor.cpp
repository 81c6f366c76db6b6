#include "runtime/descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>

namespace tune::runtime {
namespace {

constexpr std::size_t max_descriptors = 8;  // in one message

void require(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
}

void wait_for(int descriptor, short events) {
  pollfd entry{descriptor, events, 0};
  ::poll(&entry, 1, -1);
}

void attach(msghdr& message, std::span<char> space, std::span<const int> descriptors) {
  const std::size_t bytes = descriptors.size_bytes();
  message.msg_control = space.data();
  message.msg_controllen = CMSG_SPACE(bytes);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(bytes);
  std::memcpy(CMSG_DATA(header), descriptors.data(), bytes);
}

std::vector<Descriptor> descriptors_in(msghdr& message) {
  std::vector<Descriptor> found;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int value = -1;
      std::memcpy(&value, CMSG_DATA(header) + i * sizeof value, sizeof value);
      found.emplace_back(value);
    }
  }
  return found;
}

}  // namespace

void Descriptor::reset(int value) {
  if (value_ >= 0) ::close(value_);
  value_ = value;
}

DescriptorPair make_socket_pair() {
  std::array<int, 2> ends{};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), "socketpair");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

DescriptorPair make_pipe() {
  std::array<int, 2> ends{};
  require(::pipe2(ends.data(), O_CLOEXEC), "pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Descriptor make_event() {
  const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  require(event, "eventfd");
  return Descriptor(event);
}

void signal_event(const Descriptor& event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event.get(), &one, sizeof one);
}

void clear_event(const Descriptor& event) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(event.get(), &count, sizeof count);
}

void set_blocking(int descriptor, bool is_blocking) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0) return;
  ::fcntl(descriptor, F_SETFL, is_blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

bool send_all(int socket, std::string_view bytes, std::span<const int> descriptors) {
  std::array<char, CMSG_SPACE(max_descriptors * sizeof(int))> space{};
  while (!bytes.empty()) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) attach(message, space, descriptors);
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      descriptors = {};
    } else if (errno == EAGAIN) {
      wait_for(socket, POLLOUT);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

Received receive(int socket, std::span<char> buffer) {
  std::array<char, CMSG_SPACE(max_descriptors * sizeof(int))> space{};
  while (true) {
    iovec part{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    const ssize_t count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (count >= 0) {
      return {{buffer.data(), static_cast<std::size_t>(count)}, descriptors_in(message)};
    }
    if (errno == EAGAIN) {
      wait_for(socket, POLLIN);
    } else if (errno != EINTR) {
      return {};
    }
  }
}

}  // namespace tune::runtime
