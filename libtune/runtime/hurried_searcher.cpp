#include "runtime/hurried_searcher.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <tune/searchers/random.hpp>

#include "core/number_text.hpp"
#include "core/option_name.hpp"

namespace tune::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Calls in order, on one thread of its own.
class ThinkingThread {
 public:
  ThinkingThread() : thread_([this] { run(); }) {}
  ~ThinkingThread() {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  ThinkingThread(const ThinkingThread&) = delete;
  ThinkingThread& operator=(const ThinkingThread&) = delete;

  /// @throws what an earlier call has thrown.
  void post(std::function<void()> call) {
    {
      const std::scoped_lock lock(mutex_);
      if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
      calls_.push_back(std::move(call));
    }
    changed_.notify_all();
  }
  /// True if all calls were made by then. @throws what one of them has thrown.
  bool wait_until(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    const bool is_idle = changed_.wait_until(lock, deadline, [this] { return this->is_idle(); });
    if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
    return is_idle;
  }

 private:
  [[nodiscard]] bool is_idle() const { return calls_.empty() && !is_calling_; }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ends_ || !calls_.empty(); });
      if (ends_) return;
      const std::function<void()> call = std::move(calls_.front());
      calls_.pop_front();
      is_calling_ = true;
      lock.unlock();
      std::exception_ptr fault;
      try {
        call();
      } catch (...) {
        fault = std::current_exception();
      }
      lock.lock();
      is_calling_ = false;
      if (fault && !fault_) fault_ = std::move(fault);
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> calls_;
  bool is_calling_ = false;
  bool ends_ = false;
  std::exception_ptr fault_;
  std::thread thread_;  // last: it uses the others
};

class HurriedSearcher final : public Searcher {
 public:
  HurriedSearcher(std::unique_ptr<Searcher> searcher, std::chrono::duration<double> budget)
      : searcher_(std::move(searcher)),
        name_(core::option_name(searcher_->options(), "the searcher")),
        budget_(budget) {}

  void setup(const SearcherSetup& setup) override {
    searcher_->setup(setup);
    random_->setup(setup);
  }

  Suggestion suggest(const SuggestionRequest& request) override {
    if (request.attempt == 0) {
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(budget_);
    }
    if (!thinking_.wait_until(deadline_)) return drawn(request);
    // Both sides hold it: an answer that comes late goes nowhere.
    const auto answer = std::make_shared<Answer>();
    thinking_.post([this, request, answer] {
      answer->suggestion = searcher_->suggest(request);
      answer->note = searcher_->take_note();
      answer->is_repetition = searcher_->is_repetition();
    });
    if (!thinking_.wait_until(deadline_)) return drawn(request);
    note_ = std::move(answer->note);
    is_repetition_ = answer->is_repetition;
    return std::move(answer->suggestion);
  }

  void on_trial_added(TrialId id, const Config& config) override {
    thinking_.post([this, id, config] { searcher_->on_trial_added(id, config); });
  }
  void on_trial_result(TrialId id, const Config& config, const Result& result) override {
    thinking_.post([=, this] { searcher_->on_trial_result(id, config, result); });
  }
  void on_trial_completed(TrialId id, const Config& config, const Result& last) override {
    thinking_.post([=, this] { searcher_->on_trial_completed(id, config, last); });
  }
  void on_trial_failed(TrialId id, const Config& config, bool infeasible) override {
    thinking_.post([=, this] { searcher_->on_trial_failed(id, config, infeasible); });
  }

  std::string take_note() override { return std::exchange(note_, {}); }
  [[nodiscard]] bool wants_results() const override { return searcher_->wants_results(); }
  [[nodiscard]] std::optional<Objective> objective() const override {
    return searcher_->objective();
  }
  [[nodiscard]] bool needs_metric() const override { return searcher_->needs_metric(); }
  [[nodiscard]] bool enumerates() const override { return searcher_->enumerates(); }
  [[nodiscard]] bool is_repetition() const override { return is_repetition_; }
  [[nodiscard]] Json options() const override { return searcher_->options(); }

  [[nodiscard]] Json save() const override {
    if (!thinking_.wait_until(Clock::now())) return nullptr;
    return searcher_->save();
  }
  // Comes before anything that it would have to think of.
  void restore(const Json& state) override { searcher_->restore(state); }

 private:
  struct Answer {
    Suggestion suggestion;
    std::string note;
    bool is_repetition = false;
  };

  Suggestion drawn(const SuggestionRequest& request) {
    is_repetition_ = false;
    note_ = "drawn at random: " + name_ + " took longer than suggest_budget, " +
            core::number_text(budget_.count()) + " s";
    return random_->suggest(request);
  }

  std::unique_ptr<Searcher> searcher_;
  std::unique_ptr<Searcher> random_ = random_search();
  std::string name_;
  std::chrono::duration<double> budget_;
  Clock::time_point deadline_;  // of the trial that is asked for
  std::string note_;
  bool is_repetition_ = false;
  mutable ThinkingThread thinking_;  // last: it ends before what it calls
};

}  // namespace

std::unique_ptr<Searcher> hurried(std::unique_ptr<Searcher> searcher,
                                  std::chrono::duration<double> budget) {
  return std::make_unique<HurriedSearcher>(std::move(searcher), budget);
}

}  // namespace tune::runtime
