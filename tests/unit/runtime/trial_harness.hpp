#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tune/trainable.hpp>

#include "engine/commands.hpp"
#include "engine/events.hpp"
#include "runtime/runner_pool.hpp"
#include "runtime/trial_link.hpp"
#include "runtime/trial_run.hpp"
#include "support/gate.hpp"
#include "support/temporary_folder.hpp"

namespace tune::runtime {

using test::Gate;

/// Stands where the actors stand: starts trials on a pool and hears what they tell.
class TrialHarness {
 public:
  explicit TrialHarness(TrainableSpec trainable,
                        std::chrono::duration<double> cleanup_grace = std::chrono::hours(1))
      : pool(std::move(trainable), cleanup_grace) {
    run.launch.incarnation = 1;
    run.launch.trial_name = "00000_trial";
    run.launch.horizon.every_result = false;
    run.experiment_name = "experiment";
    run.experiment_path = folder.path();
  }
  ~TrialHarness() {
    if (link) link->stop(false);  // a failed test must not hang
  }

  /// Starts what `run` says, on a new link.
  void start(std::uint64_t max_unacknowledged = 256) {
    {
      const std::lock_guard lock(mutex_);
      messages_.clear();
      woken_ = false;
    }
    link = std::make_shared<TrialLink>(TrialLink::Options{run.launch.trial, run.launch.incarnation,
                                                          run.launch.horizon, max_unacknowledged},
                                       [this] {
                                         const std::lock_guard lock(mutex_);
                                         woken_ = true;
                                         changed_.notify_all();
                                       });
    pool.start(run, link);
  }

  /// All that was told since the start, once it is `count` messages or more.
  std::vector<engine::TrialMessage> wait_for(std::size_t count) {
    return wait_until([&](const auto& messages) { return messages.size() >= count; });
  }
  /// All that was told, once the trial has ended.
  std::vector<engine::TrialMessage> wait_for_end() {
    return wait_until([](const auto& messages) {
      return !messages.empty() && std::holds_alternative<engine::Ended>(messages.back().report);
    });
  }
  /// How the trial ended.
  engine::Ended ended() { return std::get<engine::Ended>(wait_for_end().back().report); }

  /// For comparisons and failures: "started result 1 stored checkpoint_000001 ended finished".
  static std::string describe(const std::vector<engine::TrialMessage>& messages) {
    std::string text;
    for (const auto& message : messages) {
      if (!text.empty()) text += ", ";
      text += std::visit(Describe{}, message.report);
    }
    return text;
  }
  static std::vector<Result> results(const std::vector<engine::TrialMessage>& messages) {
    std::vector<Result> results;
    for (const auto& message : messages) {
      if (const auto* reported = std::get_if<engine::Reported>(&message.report)) {
        results.push_back(reported->result);
      }
    }
    return results;
  }

  test::TemporaryFolder folder;
  TrialRun run;
  std::shared_ptr<TrialLink> link;

 private:
  template <class Condition>
  std::vector<engine::TrialMessage> wait_until(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::unique_lock lock(mutex_);
    while (true) {
      woken_ = false;
      lock.unlock();
      auto taken = link->take();
      lock.lock();
      messages_.insert(messages_.end(), taken.begin(), taken.end());
      if (condition(messages_)) return messages_;
      if (!changed_.wait_until(lock, deadline, [&] { return woken_; })) {
        throw std::runtime_error("the trial told too little: " + describe(messages_));
      }
    }
  }

  struct Describe {
    std::string operator()(const engine::Started&) const { return "started"; }
    std::string operator()(const engine::Reported& report) const {
      return "result " + std::to_string(report.result.training_iteration) +
             (report.result.done ? " done" : "");
    }
    std::string operator()(const engine::CheckpointStored& report) const {
      return "stored " + report.directory_name;
    }
    std::string operator()(const engine::CheckpointFailed& report) const {
      return "not stored: " + report.message;
    }
    std::string operator()(const engine::Warned& report) const { return "warned: " + report.text; }
    std::string operator()(const engine::Saved& report) const {
      return "saved " + report.saved.name + " " + std::to_string(report.saved.index) + " " +
             report.saved.value->dump();
    }
    std::string operator()(const engine::WentBack& report) const {
      return "went back to " + std::to_string(report.training_iteration);
    }
    std::string operator()(const engine::Ended& report) const {
      static const char* const kinds[] = {"finished", "stopped",   "paused", "failed",
                                          "invalid",  "abandoned", "damaged"};
      return std::string(kinds[static_cast<int>(report.kind)]) +
             (report.message.empty() ? "" : " " + report.message);
    }
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<engine::TrialMessage> messages_;
  bool woken_ = false;

 public:
  RunnerPool pool;  // last: its threads use what is above
};

}  // namespace tune::runtime
