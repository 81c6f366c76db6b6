#include "store/directory_lock.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include <tune/json.hpp>

#include "journal_samples.hpp"
#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

using namespace std::chrono_literals;
using Catch::Contains;
using test::TemporaryFolder;

// A child that locks the directory, says so, and then lives until it is killed; `hands_on`: with a
// child of its own that has the lock's descriptor.
class Holding {
 public:
  explicit Holding(const std::filesystem::path& directory, bool hands_on = false) {
    REQUIRE(::pipe(ready_.data()) == 0);
    child_ = ::fork();
    if (child_ == 0) hold(directory, hands_on);
    ::close(ready_[1]);
    REQUIRE(::read(ready_[0], &grandchild_, sizeof grandchild_) == sizeof grandchild_);
  }
  ~Holding() {
    kill_child();
    kill_grandchild();
    ::close(ready_[0]);
  }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

  [[nodiscard]] pid_t child() const { return child_; }
  [[nodiscard]] pid_t grandchild() const { return grandchild_; }

  void kill_child() {
    if (is_reaped_) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    is_reaped_ = true;
  }
  void kill_grandchild() {
    if (grandchild_ > 0) ::kill(std::exchange(grandchild_, 0), SIGKILL);
  }

 private:
  [[noreturn]] void hold(const std::filesystem::path& directory, bool hands_on) {
    const auto lock = DirectoryLock::acquire(directory, 0ms);
    pid_t grandchild = 0;
    if (lock && hands_on && (grandchild = ::fork()) == 0) {
      for (;;) ::pause();
    }
    if (lock) (void)!::write(ready_[1], &grandchild, sizeof grandchild);
    for (;;) ::pause();
  }

  std::array<int, 2> ready_{};
  pid_t child_ = 0;
  pid_t grandchild_ = 0;
  bool is_reaped_ = false;
};

TEST_CASE("RE-09 a directory in use is refused, and the holder named", "[lock]") {
  const TemporaryFolder folder;
  const Holding holding(folder.path());
  const auto refused = DirectoryLock::acquire(folder.path(), 10s);  // returns at once all the same
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message,
             Contains("experiment directory " + folder.path().string()) &&
                 Contains("process " + std::to_string(holding.child()) + " on ") &&
                 Contains(" since 20"));
}

TEST_CASE("RE-09 a lock of a dead process blocks nobody", "[lock]") {
  const TemporaryFolder folder;
  Holding(folder.path()).kill_child();
  const auto lock = DirectoryLock::acquire(folder.path(), 0ms);
  REQUIRE(lock);
  const Json holder = Json::parse(test::file_bytes(folder.path() / lock_file));
  CHECK(holder.at("pid") == ::getpid());
}

TEST_CASE("a lock that a dead process handed on is waited for", "[lock]") {
  const TemporaryFolder folder;
  Holding holding(folder.path(), true);
  holding.kill_child();
  const auto refused = DirectoryLock::acquire(folder.path(), 20ms);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Contains("which has died"));
  holding.kill_grandchild();  // which is not ours to wait for
  CHECK(DirectoryLock::acquire(folder.path(), 20s));
}

TEST_CASE("whether a directory is locked can be asked", "[lock]") {
  const TemporaryFolder folder;
  CHECK_FALSE(is_locked(folder.path()));
  CHECK(std::filesystem::is_empty(folder.path()));
  {
    const auto lock = DirectoryLock::acquire(folder.path(), 0ms);
    REQUIRE(lock);
    CHECK(is_locked(folder.path()));
  }
  CHECK_FALSE(is_locked(folder.path()));
  Holding other(folder.path());
  CHECK(is_locked(folder.path()));
  other.kill_child();
  CHECK_FALSE(is_locked(folder.path()));
}

TEST_CASE("one process cannot lock a directory twice", "[lock]") {
  const TemporaryFolder folder;
  std::optional<DirectoryLock> lock = DirectoryLock::acquire(folder.path(), 0ms).value();
  CHECK(::fcntl(lock->descriptor(), F_GETFD) == FD_CLOEXEC);
  CHECK_FALSE(DirectoryLock::acquire(folder.path(), 0ms));
  std::optional<DirectoryLock> moved = std::move(*lock);
  lock.reset();
  CHECK_FALSE(DirectoryLock::acquire(folder.path(), 0ms));
  moved.reset();
  CHECK(DirectoryLock::acquire(folder.path(), 0ms));
  CHECK(std::filesystem::exists(folder.path() / lock_file));
}

TEST_CASE("a directory that is not there cannot be locked", "[lock]") {
  const TemporaryFolder folder;
  const auto lock = DirectoryLock::acquire(folder.path() / "none", 0ms);
  REQUIRE_FALSE(lock);
  CHECK_THAT(lock.error().message, Contains("none/experiment.lock: No such file"));
}

}  // namespace
}  // namespace tune::store
