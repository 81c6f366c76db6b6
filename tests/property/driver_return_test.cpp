// Drivers that die at random moments and come back, with nodes that hold on to what runs there:
// seeded histories of an engine that is made anew from what had been committed.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>
#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/fifo.hpp>

#include "engine/engine.hpp"
#include "support/seed.hpp"

namespace tune {
namespace {

using namespace engine;

constexpr std::uint64_t trials = 6;
constexpr std::int64_t max_iterations = 9;
constexpr std::uint64_t credit = 4;  // messages that a trial may have unacknowledged
constexpr int most_steps = 40'000;

std::uint64_t rounds() {
  const char* text = std::getenv("TUNE_TEST_ROUNDS");
  return text == nullptr ? TUNE_TEST_ROUNDS : std::stoull(text);
}

using StartKey = std::pair<TrialId, std::uint32_t>;

/// One start of a trial at its node, with what it told and the driver has not acknowledged.
struct Start {
  Launch launch;
  std::int64_t iteration = 0;
  Result last;
  std::uint64_t next_sequence = 0;
  std::deque<TrialMessage> held;
  std::uint64_t checkpoint_end = 0;  // it waits until that is acknowledged
  bool has_started = false;
  bool has_ended = false;
  bool stops = false;
  bool pauses = false;

  void tell(TrialReport report) {
    held.push_back({launch.trial, launch.incarnation, next_sequence++, std::move(report)});
  }
  [[nodiscard]] bool waits() const {
    const std::uint64_t acknowledged = held.empty() ? next_sequence : held.front().sequence;
    return held.size() >= credit || acknowledged < checkpoint_end ||
           (iteration > launch.start_iteration && launch.horizon.is_reached(last));
  }
};

struct SimulatedNode {
  NodeId id;
  bool is_joined = false;
  std::map<StartKey, Start> starts;
  std::deque<Command> orders;     // on their way to it
  std::deque<TrialMessage> news;  // on their way to the driver
};

/// What one event brought to the records.
struct Entry {
  Event event;
  Time time;
  Decisions decisions;
  std::vector<Command> commands;
};

class Story {
 public:
  Story(std::uint64_t seed, bool uses_asha) : random_(seed, "driver return"), asha_(uses_asha) {
    options_.objective = Objective{"loss", Mode::min};
    options_.trainable_checkpoints = true;
    options_.checkpoint = {.every = chance(0.5) ? 2 : 0, .keep = 2};
    options_.fixed_cluster = false;
    options_.max_trials = trials;
    options_.stop = StopCriteria{{"training_iteration", static_cast<double>(max_iterations)}};
    options_.driver_grace = Time(chance(0.8) ? 20 : 0);
    options_.seed = seed;
    nodes_.resize(2);
    begin();
  }

  void run() {
    for (int step = 0; step < most_steps; ++step) {
      if (has_finished_ && committed_ == log_.size()) return;
      take_step();
    }
    FAIL("it does not end: " << engine_->waiting_reason());
  }

  /// The committed commands tell of whole trials, each result once in its line.
  void check() const {
    std::map<TrialId, std::int64_t> lines;
    std::map<TrialId, TrialState> states;
    std::map<TrialId, std::size_t> launches;
    for (const Entry& entry : log_) {
      for (const Command& command : entry.commands) {
        if (const auto* launch = std::get_if<Launch>(&command)) {
          ++launches[launch->trial];
          CHECK(launch->start_iteration <= lines[launch->trial]);
          lines[launch->trial] = launch->start_iteration;
        } else if (const auto* result = std::get_if<RecordResult>(&command)) {
          CHECK(result->result.training_iteration == ++lines[result->trial]);
        } else if (const auto* state = std::get_if<RecordTrialState>(&command)) {
          states[state->trial] = state->state;
        }
      }
    }
    CHECK(states.size() == trials);
    for (const auto& [trial, state] : states) {
      CAPTURE(trial.value());
      CHECK(state == TrialState::terminated);
      if (asha_) continue;
      CHECK(lines[trial] == max_iterations);
      const bool always_kept =
          options_.driver_grace > Time(0) && !has_lost_commits_ && !lost_.contains(trial);
      if (always_kept) CHECK(launches[trial] == 1);
    }
    for (const SimulatedNode& node : nodes_) {
      if (node.is_joined) CHECK(engine_->free_resources(node.id)->amount("cpu") == 2000);
    }
  }

 private:
  bool chance(double p) { return random_.uniform() < p; }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_.below(count)); }

  void take_step() {
    SimulatedNode& node = nodes_[below(nodes_.size())];
    switch (below(crashes_ < 4 ? 60 : 59)) {
      case 59:
        return crash();
      case 58:
      case 57:
        if (!node.is_joined && !has_finished_) join(node);
        return;
      case 56:
      case 55:
      case 54:
        return commit();
      case 53:
        return advance_clock();
      default:
        break;
    }
    switch (below(4)) {
      case 0:
        if (!asked_.empty()) answer();
        return;
      case 1:
        if (!node.orders.empty() && node.is_joined) obey(node);
        return;
      case 2:
        if (node.news.empty() || !node.is_joined) return;
        handle(node.news.front());
        node.news.pop_front();
        return;
      default:
        train(node);
    }
  }

  // --- the driver

  void begin() {
    std::unique_ptr<TrialScheduler> scheduler = fifo();
    if (asha_) scheduler = asha({.max_t = 9, .grace_period = 1, .reduction_factor = 2});
    engine_ = std::make_unique<Engine>(options_, std::move(scheduler));
    for (const Entry& entry : log_) {
      std::vector<Command> commands;
      engine_->replay(entry.event, entry.time, entry.decisions, true, commands);
    }
    CHECK(engine_->replay_difference().empty());
    timers_.clear();
    asked_.clear();
    has_finished_ = false;
    handle(SessionStarted{std::make_shared<const EngineOptions>(options_)});
  }

  void handle(const Event& event) {
    std::vector<Command> commands;
    engine_->handle(event, now_, commands);
    log_.push_back({event, now_, engine_->take_decisions(), commands});
    for (const Command& command : commands) carry_out(command);
  }

  void carry_out(const Command& command) {
    if (const auto* ask = std::get_if<AskSearcher>(&command)) {
      asked_.push_back(ask->trial);
    } else if (const auto* timer = std::get_if<SetTimer>(&command)) {
      timers_.emplace(timer->at, timer->timer);
    } else if (const auto* adopt = std::get_if<Adopt>(&command)) {
      adopted_.push_back(*adopt);
    } else if (std::holds_alternative<Finish>(command)) {
      has_finished_ = true;
    } else {
      order<Launch>(command) || order<Proceed>(command) || order<Pause>(command) ||
          order<Stop>(command);
    }
  }

  template <class Order>
  bool order(const Command& command) {
    const auto* const wanted = std::get_if<Order>(&command);
    if (wanted == nullptr) return false;
    for (SimulatedNode& node : nodes_) {
      if (node.is_joined && node.id == wanted->node) node.orders.push_back(command);
    }
    return true;
  }

  void answer() {
    const TrialId trial = asked_.front();
    asked_.pop_front();
    handle(SuggestionReady{trial, Config(Json{{"x", trial.value()}})});
  }

  void commit() {
    for (; committed_ < log_.size(); ++committed_) {
      const Entry& entry = log_[committed_];
      if (const auto* message = std::get_if<TrialMessage>(&entry.event)) acknowledge(*message);
      for (const Command& command : entry.commands) {
        if (const auto* removal = std::get_if<DeleteCheckpoint>(&command)) {
          files_.erase(path_of(removal->checkpoint));
          forced_ = committed_ + 1;
        }
      }
    }
  }

  void acknowledge(const TrialMessage& message) {
    for (SimulatedNode& node : nodes_) {
      const auto start = node.starts.find({message.trial, message.incarnation});
      if (!node.is_joined || start == node.starts.end()) continue;
      auto& held = start->second.held;
      while (!held.empty() && held.front().sequence <= message.sequence) held.pop_front();
      if (held.empty() && start->second.has_ended) node.starts.erase(start);
    }
  }

  void advance_clock() {
    if (timers_.empty()) return;
    const auto [time, timer] = *timers_.begin();
    // Most often nothing happens before it that is still to happen.
    if (!is_quiet() && chance(0.95)) return;
    timers_.erase(timers_.begin());
    now_ = std::max(now_, time);
    if (options_.driver_grace > Time(0)) note_lost();
    handle(TimerFired{timer});
  }

  [[nodiscard]] bool is_quiet() const {
    return std::all_of(nodes_.begin(), nodes_.end(), [](const SimulatedNode& node) {
      return node.is_joined && node.orders.empty() && node.news.empty();
    });
  }

  // All that is not committed is gone, and all that is on its way.
  void crash() {
    ++crashes_;
    if (chance(0.1)) lose_power();
    log_.resize(committed_);
    for (SimulatedNode& node : nodes_) {
      for (const Command& order : node.orders) {
        if (const auto* launch = std::get_if<Launch>(&order)) lost_.insert(launch->trial);
      }
      node.orders.clear();
      node.news.clear();
      node.is_joined = false;
      const bool survives = options_.driver_grace > Time(0) && chance(0.9);
      if (survives) continue;
      for (const auto& [key, start] : node.starts) lost_.insert(key.first);
      node.starts.clear();
    }
    begin();
  }

  // Commits that were not forced to the disk are gone, too, though nodes know of them.
  void lose_power() {
    const std::size_t lost = std::min(below(8), committed_ - forced_);
    if (lost == 0) return;
    committed_ -= lost;
    has_lost_commits_ = true;
  }

  // What has not come back when a grace ends is started again.
  void note_lost() {
    for (const SimulatedNode& node : nodes_) {
      if (node.is_joined) continue;
      for (const auto& [key, start] : node.starts) lost_.insert(key.first);
    }
  }

  // --- nodes

  void join(SimulatedNode& node) {
    node.id = NodeId{next_node_++};
    node.is_joined = true;
    NodeJoined joined{node.id, "node", ResourceAmounts(Resources{.cpu = 2}), {}, true, {}};
    for (const auto& [key, start] : node.starts) {
      const std::uint64_t first =
          start.held.empty() ? start.next_sequence : start.held.front().sequence;
      joined.held.push_back({key.first, key.second, first});
    }
    adopted_.clear();
    handle(joined);
    for (auto start = node.starts.begin(); start != node.starts.end();) {
      const auto adopted = std::find_if(adopted_.begin(), adopted_.end(), [&](const Adopt& a) {
        return StartKey(a.trial, a.incarnation) == start->first;
      });
      if (adopted == adopted_.end()) {
        start = node.starts.erase(start);
        continue;
      }
      auto& held = start->second.held;
      while (!held.empty() && held.front().sequence < adopted->next) held.pop_front();
      node.news.insert(node.news.end(), held.begin(), held.end());
      ++start;
    }
  }

  void obey(SimulatedNode& node) {
    const Command command = node.orders.front();
    node.orders.pop_front();
    if (const auto* launch = std::get_if<Launch>(&command)) {
      Start& start = node.starts[{launch->trial, launch->incarnation}];
      start.launch = *launch;
      start.iteration = launch->start_iteration;
      if (launch->checkpoint) CHECK(files_.contains(path_of(*launch->checkpoint)));
    } else if (const auto* proceed = std::get_if<Proceed>(&command)) {
      if (Start* start = find(node, *proceed)) start->launch.horizon = proceed->horizon;
    } else if (const auto* pause = std::get_if<Pause>(&command)) {
      if (Start* start = find(node, *pause)) start->pauses = true;
    } else if (const auto* stop = std::get_if<Stop>(&command)) {
      if (Start* start = find(node, *stop)) start->stops = true;
    }
  }

  template <class Order>
  Start* find(SimulatedNode& node, const Order& order) {
    const auto found = node.starts.find({order.trial, order.incarnation});
    return found == node.starts.end() ? nullptr : &found->second;
  }

  void train(SimulatedNode& node) {
    if (node.starts.empty()) return;
    auto chosen = node.starts.begin();
    std::advance(chosen, below(node.starts.size()));
    Start& start = chosen->second;
    if (start.has_ended) return;
    const std::size_t before = start.held.size();
    go_on(start);
    if (!node.is_joined) return;
    node.news.insert(node.news.end(), start.held.begin() + static_cast<std::ptrdiff_t>(before),
                     start.held.end());
  }

  void go_on(Start& start) {
    if (!std::exchange(start.has_started, true)) return start.tell(Started{});
    if (start.stops) return end(start, EndKind::stopped);
    if (start.pauses) {
      save(start);
      return end(start, EndKind::paused);
    }
    if (start.waits()) return;
    start.last = {};
    start.last.training_iteration = ++start.iteration;
    start.last.metrics = {{"loss", static_cast<double>((start.launch.trial.value() * 7) % 5)}};
    start.tell(Reported{start.last});
    const std::int64_t every = options_.checkpoint.every;
    if (every > 0 && start.iteration % every == 0) save(start);
  }

  void save(Start& start) {
    const std::string name = own_checkpoint_name(start.launch, start.iteration);
    files_.insert(path_of({start.launch.trial_name, name}));
    start.tell(CheckpointStored{name, start.iteration, 1});
    start.checkpoint_end = start.next_sequence;
  }

  static void end(Start& start, EndKind kind) {
    start.tell(Ended{kind, {}});
    start.has_ended = true;
  }

  static std::string path_of(const CheckpointLocation& location) {
    return location.trial_name + "/" + location.directory_name;
  }

  Random random_;
  bool asha_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  std::vector<Entry> log_;
  std::size_t committed_ = 0;
  std::size_t forced_ = 0;  // of those
  std::deque<TrialId> asked_;
  std::multimap<Time, std::uint64_t> timers_;
  std::vector<Adopt> adopted_;
  std::vector<SimulatedNode> nodes_;
  std::set<std::string> files_;
  std::set<TrialId> lost_;  // trials with a start of which something was lost
  std::uint64_t next_node_ = 0;
  Time now_{0};
  int crashes_ = 0;
  bool has_finished_ = false;
  bool has_lost_commits_ = false;
};

void check_stories(bool uses_asha) {
  const std::uint64_t first = test::test_seed(1);
  const bool is_one = std::getenv("TUNE_TEST_SEED") != nullptr;
  const std::uint64_t count = is_one ? 1 : rounds() / 5;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("TUNE_TEST_SEED=" << seed);
    Story story(seed, uses_asha);
    story.run();
    story.check();
  }
}

TEST_CASE("a driver that dies at any moment finds its trials at nodes that held on to them",
          "[grace]") {
  check_stories(/*uses_asha=*/false);
}

TEST_CASE("the same where a scheduler decides", "[grace]") { check_stories(/*uses_asha=*/true); }

}  // namespace
}  // namespace tune
