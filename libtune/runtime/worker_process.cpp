#include "worker_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <tune/registry.hpp>

#include "plugin_loader.hpp"
#include "program_function.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/experiment_presence.hpp"
#include "runtime/frame.hpp"
#include "runtime/guardian.hpp"
#include "runtime/news_pace.hpp"
#include "runtime/runner_pool.hpp"
#include "runtime/team_member.hpp"
#include "runtime/wire.hpp"
#include "runtime/worker_team.hpp"
#include "signal_watch.hpp"

namespace tune::runtime {
namespace {

constexpr int least_socket = 200;

/// True if this process has a child that lives: one that the training code has started, or one
/// that such a one has left behind.
bool has_children() {
  pid_t ended = 0;
  do {
    ended = ::waitpid(-1, nullptr, WNOHANG | __WALL);
  } while (ended > 0);
  return ended == 0;  // else there is none: ECHILD
}

/// Nobody wants the rest. Usually nobody reads this either, unless the training code cut the
/// connection.
[[noreturn]] void end_without_agent() {
  std::fputs("tune: the connection of this worker process to its agent is broken\n", stderr);
  ::_exit(1);
}

TrainableSpec find_trainable_of(const std::string& key) {
  const auto function = program_function(key);
  return function ? find_function(*function) : detail::find_key(key);
}

void flush_output() {
  std::cout.flush();
  std::clog.flush();
  // Not all files: one that a thread of the training code waits in would be waited for.
  std::fflush(stdout);
  std::fflush(stderr);
}

/// What a trial says to its workers goes through its agent.
class LetterTransport final : public TeamTransport {
 public:
  using Post = std::function<void(const TeamLetter&)>;
  explicit LetterTransport(Post post) : post_(std::move(post)) {}

  void send(std::size_t rank, TeamOrder order) override { post_({rank, to_json(order)}); }
  [[nodiscard]] std::size_t most_bytes() const override { return max_frame_bytes / 2; }

 private:
  const Post post_;
};

bool is_good_end(engine::EndKind kind) {
  return kind == engine::EndKind::finished || kind == engine::EndKind::stopped ||
         kind == engine::EndKind::paused || kind == engine::EndKind::invalid ||
         kind == engine::EndKind::damaged;
}

class Worker {
 public:
  explicit Worker(Descriptor socket) : socket_(std::move(socket)), wake_(make_event()) {}
  [[noreturn]] void serve();

 private:
  void read_commands();
  void on(StartTrial& command);
  void on(TrialOrder& order);
  void on(TeamLetter& letter);
  [[noreturn]] void on(EndWorker&);
  void start_member(const TrialRun& run);
  void end_member();
  void post(const TeamLetter& letter);
  void on_told();
  void on_woken();
  void pass_on_news();
  void report(const WorkerReport& report) const;

  const Descriptor socket_;
  const pid_t pid_ = ::getpid();
  const Descriptor wake_;  // there is news to pass on
  const Descriptor directory_{::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  FrameReader reader_;
  std::string trainable_;
  std::optional<RunnerPool> pool_;
  std::mutex mutex_;                  // guards all below, and keeps what is sent in order
  std::shared_ptr<TrialLink> link_;   // with the trial's thread; null between trials
  std::shared_ptr<WorkerTeam> team_;  // the trial's; null if it has no workers
  NewsPace pace_;
  bool is_woken_ = false;
  std::optional<TeamMember> member_;  // this process is a worker of a trial, or was the last one
};

void Worker::serve() {
  report(WorkerHello{wire_version});
  while (true) {
    std::array<pollfd, 2> entries{{{socket_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
    ::poll(entries.data(), entries.size(), -1);
    if (entries[1].revents != 0) on_woken();
    if (entries[0].revents != 0) read_commands();
  }
}

void Worker::read_commands() {
  std::array<char, 64U << 10U> buffer{};
  const Received received = receive(socket_.get(), buffer);
  if (received.bytes.empty()) end_without_agent();
  reader_.feed(received.bytes);
  while (auto frame = reader_.next().value()) {
    WorkerCommand command = command_from_json(*frame);
    std::visit([this](auto& c) { on(c); }, command);
  }
}

void Worker::on(StartTrial& command) {
  const engine::Launch& launch = command.run.launch;
  const auto link =
      std::make_shared<TrialLink>(TrialLink::Options{.trial = launch.trial,
                                                     .incarnation = launch.incarnation,
                                                     .horizon = launch.horizon,
                                                     .after_telling = [this] { on_told(); }});
  {
    const std::lock_guard lock(mutex_);
    link_ = link;
  }
  // Where the program was started, and not where the trial before has gone.
  [[maybe_unused]] const int changed = ::fchdir(directory_.get());
  member_.reset();
  try {
    load_plugins(command.plugins);
    if (command.run.place) return start_member(command.run);
    if (!launch.workers.empty()) {
      command.run.team = std::make_shared<WorkerTeam>(
          launch.trial_name, launch.workers.size(),
          std::make_unique<LetterTransport>([this](const TeamLetter& letter) { post(letter); }));
    }
    {
      const std::lock_guard lock(mutex_);
      team_ = command.run.team;
    }
    if (!pool_ || trainable_ != command.trainable)
      pool_.emplace(find_trainable_of(command.trainable));
    trainable_ = command.trainable;
    pool_->start(std::move(command.run), link);
  } catch (const std::exception& error) {
    link->tell(engine::Started{});
    link->tell(engine::Ended{engine::EndKind::failed,
                             std::string("a worker cannot run it: ") + error.what()});
  }
}

void Worker::start_member(const TrialRun& run) {
  const std::size_t rank = run.place->rank;
  std::shared_ptr<TrialLink> link;
  {
    const std::lock_guard lock(mutex_);
    link = link_;
  }
  member_.emplace(TeamMember::Options{.rank = rank,
                                      .size = run.place->size,
                                      .resources = run.launch.grant,
                                      .tell =
                                          [this, rank](TeamWord word) {
                                            post({rank, to_json(word)});
                                          },
                                      .after_end = [this] { end_member(); }});
  link->tell(engine::Started{});
}

// On the member's thread, as the last that it does.
void Worker::end_member() {
  std::shared_ptr<TrialLink> link;
  {
    const std::lock_guard lock(mutex_);
    link = link_;
  }
  if (link) link->tell(engine::Ended{engine::EndKind::stopped, {}});
}

void Worker::on(TeamLetter& letter) {
  if (member_) return member_->order(team_order_from_json(letter.body));
  std::shared_ptr<WorkerTeam> team;
  {
    const std::lock_guard lock(mutex_);
    team = team_;
  }
  if (!team) return;
  if (const auto died = letter.body.find("died"); died != letter.body.end()) {
    team->on_death(letter.rank, died->get<std::string>());
  } else {
    team->hear(letter.rank, team_word_from_json(letter.body));
  }
}

// @throws std::length_error if it is too long; the agent makes it a little longer.
void Worker::post(const TeamLetter& letter) {
  constexpr std::size_t room = 1024;
  const std::string frame = encode_frame(to_json(WorkerReport(letter)));
  if (frame.size() > max_frame_bytes - room) {
    throw std::length_error(std::to_string(frame.size()) + " bytes");
  }
  const std::lock_guard lock(mutex_);
  if (!send_all(socket_.get(), frame)) end_without_agent();
}

void Worker::on(TrialOrder& order) {
  if (member_ && std::holds_alternative<engine::Stop>(order)) return member_->end();
  std::shared_ptr<TrialLink> link;
  {
    const std::lock_guard lock(mutex_);
    link = link_;
  }
  if (!link) return;  // the trial has ended meanwhile
  std::visit(
      [&](auto& o) {
        using Order = std::decay_t<decltype(o)>;
        if constexpr (std::is_same_v<Order, engine::Proceed>) {
          link->proceed(std::move(o.horizon));
        } else if constexpr (std::is_same_v<Order, engine::Save>) {
          link->save();
        } else if constexpr (std::is_same_v<Order, engine::Pause>) {
          link->pause();
        } else if constexpr (std::is_same_v<Order, engine::Stop>) {
          link->stop(o.save);
        } else {
          static_assert(std::is_same_v<Order, Acknowledgement>);
          link->acknowledge(o.count);
        }
      },
      order);
}

void Worker::on(EndWorker&) {
  std::string fault;
  if (pool_) {
    for (const std::string& text : pool_->shut_down()) fault = text;
  }
  report(WorkerBye{std::move(fault)});
  std::exit(0);
}

/// On the trial's thread. News goes at once, before the training code runs on: should it crash
/// then, all that it reported before is known. Only what comes too fast for that goes in batches.
void Worker::on_told() {
  if (::getpid() != pid_) return;  // a process that the training code forked is not the trial
  {
    const std::lock_guard lock(mutex_);
    if (!pace_.goes_alone(std::chrono::steady_clock::now())) {
      if (!std::exchange(is_woken_, true)) signal_event(wake_);
      return;
    }
  }
  pass_on_news();
}

void Worker::on_woken() {
  clear_event(wake_);
  {
    const std::lock_guard lock(mutex_);
    is_woken_ = false;
  }
  pass_on_news();
}

void Worker::pass_on_news() {
  const std::lock_guard lock(mutex_);
  if (!link_) return;
  WorkerNews news{link_->take(), link_->is_ending(), false};
  if (news.messages.empty() && !news.is_ending) return;
  const engine::Ended* end = nullptr;
  if (!news.messages.empty()) end = std::get_if<engine::Ended>(&news.messages.back().report);
  if (end != nullptr) {
    link_.reset();
    flush_output();  // before its end is told, so that it is among this trial's output
    news.is_reusable = is_good_end(end->kind) && !has_children();
  }
  report(news);
}

void Worker::report(const WorkerReport& report) const {
  std::string frame;
  try {
    frame = encode_frame(to_json(report));
  } catch (const std::length_error& error) {
    std::fprintf(stderr, "tune: what the trial reported is too long: %s\n", error.what());
    ::_exit(1);
  }
  if (!send_all(socket_.get(), frame)) end_without_agent();
}

}  // namespace

void serve_worker() {
  const ExperimentPresence presence;
  ::prctl(PR_SET_NAME, "tune-worker");
  // To where no file of the training code lands if it closes what is not its own.
  Descriptor socket(::fcntl(inherited_socket, F_DUPFD_CLOEXEC, least_socket));
  if (!socket) socket.reset(::fcntl(inherited_socket, F_DUPFD_CLOEXEC, inherited_socket + 1));
  ::close(inherited_socket);
  disarm_sigpipe();
  survive_group_signal(::getppid());
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // whom a trial has left behind is seen at its end
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  try {
    Worker(std::move(socket)).serve();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tune: worker: %s\n", error.what());
    std::_Exit(1);
  }
}

}  // namespace tune::runtime
