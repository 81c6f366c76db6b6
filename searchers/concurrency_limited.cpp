#include <tune/searchers/concurrency_limited.hpp>

#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace tune {
namespace {

class ConcurrencyLimited final : public Searcher {
 public:
  ConcurrencyLimited(std::unique_ptr<Searcher> searcher, std::int64_t max_concurrent)
      : searcher_(std::move(searcher)), max_concurrent_(max_concurrent) {
    if (!searcher_) {
      throw std::invalid_argument("concurrency_limited: searcher must be a searcher, is none");
    }
    if (max_concurrent < 1) {
      throw std::invalid_argument("concurrency_limited: max_concurrent must be at least 1, is " +
                                  std::to_string(max_concurrent));
    }
  }

  void setup(const SearcherSetup& setup) override {
    unfinished_.clear();
    searcher_->setup(setup);
  }

  Suggestion suggest(const SuggestionRequest& request) override {
    if (std::cmp_greater_equal(unfinished_.size(), max_concurrent_)) return Wait{};
    return searcher_->suggest(request);
  }

  void on_trial_added(TrialId id, const Config& config) override {
    unfinished_.insert(id);
    searcher_->on_trial_added(id, config);
  }

  void on_trial_result(TrialId id, const Config& config, const Result& result) override {
    searcher_->on_trial_result(id, config, result);
  }

  void on_trial_completed(TrialId id, const Config& config, const Result& last) override {
    unfinished_.erase(id);
    searcher_->on_trial_completed(id, config, last);
  }

  void on_trial_failed(TrialId id, const Config& config, bool infeasible) override {
    unfinished_.erase(id);
    searcher_->on_trial_failed(id, config, infeasible);
  }

  [[nodiscard]] bool wants_results() const override { return searcher_->wants_results(); }
  [[nodiscard]] std::string take_note() override { return searcher_->take_note(); }
  [[nodiscard]] std::optional<Objective> objective() const override {
    return searcher_->objective();
  }
  [[nodiscard]] bool needs_metric() const override { return searcher_->needs_metric(); }
  [[nodiscard]] bool enumerates() const override { return searcher_->enumerates(); }
  [[nodiscard]] bool is_repetition() const override { return searcher_->is_repetition(); }

  [[nodiscard]] Json save() const override {
    Json searcher = searcher_->save();
    if (searcher.is_null()) return nullptr;  // it is rebuilt from the record, and so is this
    Json unfinished = Json::array();
    for (const TrialId id : unfinished_) unfinished.push_back(id.value());
    return {{"searcher", std::move(searcher)}, {"unfinished", std::move(unfinished)}};
  }

  void restore(const Json& state) override {
    if (state.is_null()) return searcher_->restore(state);
    searcher_->restore(state.at("searcher"));
    unfinished_.clear();
    for (const Json& id : state.at("unfinished"))
      unfinished_.insert(TrialId{id.get<std::uint64_t>()});
  }

  [[nodiscard]] Json options() const override {
    return {{"name", "concurrency_limited"},
            {"searcher", searcher_->options()},
            {"max_concurrent", max_concurrent_}};
  }

 private:
  std::unique_ptr<Searcher> searcher_;
  std::int64_t max_concurrent_;
  std::set<TrialId> unfinished_;
};

}  // namespace

std::unique_ptr<Searcher> concurrency_limited(std::unique_ptr<Searcher> searcher,
                                              std::int64_t max_concurrent) {
  return std::make_unique<ConcurrencyLimited>(std::move(searcher), max_concurrent);
}

}  // namespace tune
