// The limits: what CAF, sockets, SQLite, processes, files and memory do alone.
#include "limits.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "cases.hpp"

namespace tune::bench {
namespace {

namespace fs = std::filesystem;

// So many messages are under way at most.
constexpr std::int64_t burst = 1000;

caf::behavior receive_bursts(caf::event_based_actor* self) {
  return {[=](std::int64_t number) {
    if (number % burst == 0)
      self->send(caf::actor_cast<caf::actor>(self->current_sender()), number);
  }};
}

caf::behavior send_bursts(caf::event_based_actor* self, const caf::actor& other,
                          std::int64_t count) {
  const auto send_on = [=](std::int64_t sent) {
    for (std::int64_t i = 1; i <= burst; ++i) self->send(other, sent + i);
  };
  send_on(0);
  return {[=](std::int64_t number) {
    if (number < count) return send_on(number);
    self->send_exit(other, caf::exit_reason::user_shutdown);
    self->quit();
  }};
}

caf::behavior send_back(caf::event_based_actor*) {
  return {[](std::int64_t number) { return number; }};
}

caf::behavior play(caf::event_based_actor* self, const caf::actor& other, std::int64_t count) {
  self->send(other, std::int64_t{0});
  return {[=](std::int64_t number) {
    if (number + 1 == count) {
      self->send_exit(other, caf::exit_reason::user_shutdown);
      self->quit();
    } else {
      self->send(other, number + 1);
    }
  }};
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {
    if (number_ < 0) throw std::system_error(errno, std::generic_category(), "descriptor");
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

std::pair<Descriptor, Descriptor> connected(Wire wire) {
  if (wire == Wire::socket_pair) {
    std::array<int, 2> ends{-1, -1};
    (void)::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
    return {Descriptor(ends[0]), Descriptor(ends[1])};
  }
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  Descriptor sender(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(listener.get(), any, size) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), any, &size) != 0 || ::connect(sender.get(), any, size) != 0) {
    throw std::system_error(errno, std::generic_category(), "loopback");
  }
  const int at_once = 1;
  (void)::setsockopt(sender.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  return {std::move(sender), Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC))};
}

double copied_gb_per_second() {
  const std::size_t size = std::size_t{256} << 20;
  std::vector<char> from(size, 'a');
  std::vector<char> to(size, 'b');
  const double seconds = seconds_of([&] { std::memcpy(to.data(), from.data(), size); });
  if (to[size - 1] != 'a') throw std::logic_error("nothing was copied");
  return static_cast<double>(size) / seconds / 1e9;
}

double written_gb_per_second(const Options& options) {
  const ScratchDirectory directory(options);
  const std::int64_t size = options.scaled(std::int64_t{1} << 30);
  return static_cast<double>(size) /
         seconds_of([&] { write_plain_file(directory.path() / "file", size); }) / 1e9;
}

BenchCase limit_case(const std::string& name, const std::string& what, const std::string& unit,
                     const std::function<double(const Options&)>& measure) {
  return {name, what, [=](const Options& options) -> std::vector<Measurement> {
            return {repeated(options, {.name = name, .unit = unit, .limit_is = {}},
                             [&] { return Sample{.value = measure(options)}; })};
          }};
}

}  // namespace

double raw_messages_per_second(std::int64_t count) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  const std::int64_t whole_bursts = std::max<std::int64_t>(1, count / burst) * burst;
  return static_cast<double>(whole_bursts) / seconds_of([&] {
           system.spawn(send_bursts, system.spawn(receive_bursts), whole_bursts);
           system.await_all_actors_done();
         });
}

double raw_round_trip_us(std::int64_t count) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  const double seconds = seconds_of([&] {
    system.spawn(play, system.spawn(send_back), count);
    system.await_all_actors_done();
  });
  return 1e6 * seconds / static_cast<double>(count);
}

double raw_frames_per_second(Wire wire, std::int64_t count) {
  constexpr std::size_t frame_size = 200;
  const auto [sender, receiver] = connected(wire);
  const int from = sender.get();
  const double seconds = seconds_of([&, &into = receiver] {
    std::thread writer([=] {
      const std::array<char, frame_size> frame{};
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::size_t done = 0; done < frame_size;) {
          const ssize_t written = ::write(from, frame.data() + done, frame_size - done);
          if (written <= 0) return;
          done += static_cast<std::size_t>(written);
        }
      }
    });
    std::vector<char> buffer(64 * 1024);
    for (std::int64_t left = count * static_cast<std::int64_t>(frame_size); left > 0;) {
      const ssize_t got = ::read(into.get(), buffer.data(), buffer.size());
      if (got <= 0) break;
      left -= got;
    }
    writer.join();
  });
  return static_cast<double>(count) / seconds;
}

double raw_processes_per_second(std::int64_t count) {
  const double seconds = seconds_of([&] {
    for (std::int64_t i = 0; i < count; ++i) {
      std::array<char*, 2> arguments = {const_cast<char*>("true"), nullptr};
      pid_t pid = 0;
      if (::posix_spawn(&pid, "/bin/true", nullptr, nullptr, arguments.data(), environ) != 0) {
        throw std::runtime_error("cannot start /bin/true");
      }
      ::waitpid(pid, nullptr, 0);
    }
  });
  return static_cast<double>(count) / seconds;
}

double raw_handovers_per_second(std::int64_t count) {
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t asked = 0;
  std::int64_t answered = 0;
  std::thread worker([&] {
    std::unique_lock lock(mutex);
    while (answered < count) {
      changed.wait(lock, [&] { return asked > answered; });
      ++answered;
      changed.notify_all();
    }
  });
  const double seconds = seconds_of([&] {
    std::unique_lock lock(mutex);
    while (asked < count) {
      ++asked;
      changed.notify_all();
      changed.wait(lock, [&] { return answered == asked; });
    }
  });
  worker.join();
  return static_cast<double>(count) / seconds;
}

double raw_files_per_second(const fs::path& directory, std::int64_t count) {
  const std::string content(4096, 'x');
  const double seconds = seconds_of([&] {
    for (std::int64_t i = 0; i < count; ++i) {
      const fs::path file = directory / std::to_string(i);
      std::ofstream(file.string() + ".part") << content;
      fs::rename(file.string() + ".part", file);
    }
  });
  return static_cast<double>(count) / seconds;
}

double raw_directories_per_second(const fs::path& directory, std::int64_t count) {
  const double seconds = seconds_of([&] {
    for (std::int64_t i = 0; i < count; ++i) {
      fs::create_directory(directory / ("directory" + std::to_string(i)));
    }
  });
  return static_cast<double>(count) / seconds;
}

void write_plain_file(const fs::path& file, std::int64_t size_bytes) {
  static const std::vector<char> block(std::size_t{1} << 20, 'x');
  const Descriptor out(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  for (std::int64_t left = size_bytes; left > 0;) {
    const auto most = static_cast<std::size_t>(std::min<std::int64_t>(left, std::ssize(block)));
    const ssize_t written = ::write(out.get(), block.data(), most);
    if (written < 0) throw std::system_error(errno, std::generic_category(), file.string());
    left -= written;
  }
  if (::fdatasync(out.get()) != 0) {
    throw std::system_error(errno, std::generic_category(), file.string());
  }
}

std::vector<BenchCase> limit_cases() {
  return {
      limit_case("limit/caf_messages", "messages from an actor to another", "messages/s",
                 [](const Options& o) { return raw_messages_per_second(o.scaled(2'000'000)); }),
      limit_case("limit/caf_round_trip", "a message to another actor and back", "us",
                 [](const Options& o) { return raw_round_trip_us(o.scaled(200'000)); }),
      limit_case("limit/socket_frames", "frames of 200 bytes through a pair of sockets", "frames/s",
                 [](const Options& o) {
                   return raw_frames_per_second(Wire::socket_pair, o.scaled(1'000'000));
                 }),
      limit_case("limit/tcp_frames", "the same over TCP on loopback", "frames/s",
                 [](const Options& o) {
                   return raw_frames_per_second(Wire::loopback_tcp, o.scaled(1'000'000));
                 }),
      limit_case("limit/sqlite_rows",
                 "results into a journal's tables by plain SQLite, 400 a transaction", "rows/s",
                 [](const Options& o) { return plain_rate(o, o.scaled(200'000), 400); }),
      limit_case("limit/processes", "processes that do nothing: fork, exec and wait", "processes/s",
                 [](const Options& o) { return raw_processes_per_second(o.scaled(400)); }),
      limit_case("limit/handovers", "from a thread to another and back", "handovers/s",
                 [](const Options& o) { return raw_handovers_per_second(o.scaled(100'000)); }),
      limit_case("limit/files", "files of 4 KiB, written and renamed", "files/s",
                 [](const Options& o) {
                   const ScratchDirectory directory(o);
                   return raw_files_per_second(directory.path(), o.scaled(10'000));
                 }),
      limit_case("limit/directories", "directories made", "directories/s",
                 [](const Options& o) {
                   const ScratchDirectory directory(o);
                   return raw_directories_per_second(directory.path(), o.scaled(2'000));
                 }),
      limit_case("limit/file_bytes", "a file of 1 GiB, written and forced to the disk", "GB/s",
                 written_gb_per_second),
      limit_case("limit/memory_copy", "copying 256 MiB", "GB/s",
                 [](const Options&) { return copied_gb_per_second(); }),
  };
}

}  // namespace tune::bench
