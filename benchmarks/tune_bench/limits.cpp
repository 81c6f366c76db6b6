// The limits: what CAF, sockets, SQLite, processes, files and memory do alone.
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <caf/all.hpp>

#include "cases.hpp"

namespace tune::bench {
namespace {

namespace fs = std::filesystem;

caf::behavior count_messages(caf::event_based_actor* self, std::int64_t count,
                             const std::shared_ptr<std::int64_t>& seen) {
  return {[=](std::int64_t) {
    if (++*seen == count) self->quit();
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

Measurement repeated(const Options& options, const std::string& name, const std::string& unit,
                     const std::function<double()>& measure) {
  Measurement measured{name, Json::object(), unit, "", {}};
  for (int i = 0; i < options.repetitions; ++i) measured.samples.push_back({measure(), 0});
  return measured;
}

double files_per_second(const Options& options, std::int64_t count) {
  const ScratchDirectory directory(options);
  const std::string content(4096, 'x');
  const double seconds = seconds_of([&] {
    for (std::int64_t i = 0; i < count; ++i) {
      const fs::path file = directory.path() / std::to_string(i);
      std::ofstream(file.string() + ".part") << content;
      fs::rename(file.string() + ".part", file);
    }
  });
  return static_cast<double>(count) / seconds;
}

double copied_gb_per_second() {
  const std::size_t size = std::size_t{256} << 20;
  std::vector<char> from(size, 'a');
  std::vector<char> to(size, 'b');
  const double seconds = seconds_of([&] { std::memcpy(to.data(), from.data(), size); });
  if (to[size - 1] != 'a') throw std::logic_error("nothing was copied");
  return static_cast<double>(size) / seconds / 1e9;
}

}  // namespace

double raw_messages_per_second(std::int64_t count) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  const auto seen = std::make_shared<std::int64_t>(0);
  return static_cast<double>(count) / seconds_of([&] {
           const caf::actor counter = system.spawn(count_messages, count, seen);
           for (std::int64_t i = 0; i < count; ++i) caf::anon_send(counter, i);
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

double raw_frames_per_second(std::int64_t count) {
  constexpr std::size_t frame_size = 200;
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) {
    throw std::runtime_error("socketpair failed");
  }
  const double seconds = seconds_of([&] {
    std::thread writer([&] {
      const std::array<char, frame_size> frame{};
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::size_t done = 0; done < frame_size;) {
          const ssize_t written = ::write(ends[0], frame.data() + done, frame_size - done);
          if (written <= 0) return;
          done += static_cast<std::size_t>(written);
        }
      }
    });
    std::vector<char> buffer(64 * 1024);
    for (std::int64_t left = count * static_cast<std::int64_t>(frame_size); left > 0;) {
      const ssize_t got = ::read(ends[1], buffer.data(), buffer.size());
      if (got <= 0) break;
      left -= got;
    }
    writer.join();
  });
  ::close(ends[0]);
  ::close(ends[1]);
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

std::vector<BenchCase> limit_cases() {
  return {
      {"limit/caf_messages", "messages from a thread to an actor",
       [](const Options& o) {
         return repeated(o, "limit/caf_messages", "messages/s",
                         [&] { return raw_messages_per_second(o.scaled(1'000'000)); });
       }},
      {"limit/caf_round_trip", "a message to another actor and back",
       [](const Options& o) {
         return repeated(o, "limit/caf_round_trip", "us",
                         [&] { return raw_round_trip_us(o.scaled(200'000)); });
       }},
      {"limit/socket_frames", "frames of 200 bytes through a pair of sockets",
       [](const Options& o) {
         return repeated(o, "limit/socket_frames", "frames/s",
                         [&] { return raw_frames_per_second(o.scaled(1'000'000)); });
       }},
      {"limit/sqlite_rows", "results into a journal's tables by plain SQLite, 400 a transaction",
       [](const Options& o) {
         return repeated(o, "limit/sqlite_rows", "rows/s",
                         [&] { return plain_rate(o, o.scaled(200'000), 400); });
       }},
      {"limit/processes", "processes that do nothing, one after the other",
       [](const Options& o) {
         return repeated(o, "limit/processes", "processes/s",
                         [&] { return raw_processes_per_second(o.scaled(400)); });
       }},
      {"limit/handovers", "from a thread to another and back",
       [](const Options& o) {
         return repeated(o, "limit/handovers", "handovers/s",
                         [&] { return raw_handovers_per_second(o.scaled(100'000)); });
       }},
      {"limit/files", "files of 4 KiB, written and renamed",
       [](const Options& o) {
         return repeated(o, "limit/files", "files/s",
                         [&] { return files_per_second(o, o.scaled(10'000)); });
       }},
      {"limit/memory_copy", "copying 256 MiB",
       [](const Options& o) {
         return repeated(o, "limit/memory_copy", "GB/s", [] { return copied_gb_per_second(); });
       }},
  };
}

}  // namespace tune::bench
