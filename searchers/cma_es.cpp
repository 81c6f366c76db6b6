#include <tune/searchers/cma_es.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "cma_model.hpp"
#include "cma_population.hpp"
#include "cma_start.hpp"
#include "core/number_text.hpp"
#include "core/saved_number.hpp"
#include "searchers/cma_distribution.hpp"
#include "searchers/cma_margin.hpp"
#include "searchers/encoded_space.hpp"
#include "searchers/rank_model.hpp"

namespace tune {
namespace {

using searchers::CmaDistribution;
using searchers::CmaGeneration;
using searchers::CmaMember;
using searchers::CmaParameters;
using searchers::Point;
using searchers::RankModel;
using searchers::Standing;

constexpr int most_redraws = 30;            // of a draw outside the bounds
constexpr int most_forbidden = 100;         // draws in a row that a constraint refuses
constexpr std::uint64_t most_widened = 20;  // attempts, then the whole space is drawn from
constexpr double largest_deviation = 1;     // the whole range of a parameter
constexpr double least_deviation = 1e-10;   // so that draws still differ
constexpr double smallest_deviation = 1e-8;
constexpr double largest_condition = 1e14;
constexpr double smallest_change = 1e-10;  // of the best value, relative
constexpr double option_rate = 0.2;        // how far the probabilities move in a generation
constexpr double share_of_chance = 0.25;   // of the trials, for integers and options
constexpr std::size_t most_members = 200;  // kept for the model
constexpr std::int64_t largest_population = 1000;

class CmaEs final : public Searcher {
 public:
  explicit CmaEs(const CmaEsOptions& options) : options_(options) { check(options); }

  void setup(const SearcherSetup& setup) override {
    seed_ = setup.seed;
    sign_ = setup.objective && setup.objective->mode == Mode::max ? -1 : 1;
    parameters_ = CmaParameters(*setup.space);
    constraints_ = setup.space->constraints().empty() ? nullptr : setup.space;
    is_first_ = true;
    members_.clear();
    unseen_.clear();
    fresh_ = 0;
    restarts_ = 0;
    trials_.fill(0);
    is_small_ = false;
    population_ = first_population();
    begin_run(searchers::start_of(parameters_, options_, sign_));
  }

  Suggestion suggest(const SuggestionRequest& request) override {
    Random random(seed_, "cma_es", request.trial.value(), request.attempt);
    return Config(parameters_.space().decode(chosen(request, random), request.fixed.json()));
  }

  void on_trial_added(TrialId id, const Config&) override {
    note_ = is_first_ ? searchers::rule_for_options(parameters_) : "";
    is_first_ = false;
    // Where a branch is not taken nothing shall be learnt: as good as drawn.
    if (!parameters_.space().is_conditional()) return;
    Random random(seed_, "cma_es/not taken", id.value());
    unseen_[id] = drawn_place(random, 1);
  }

  void on_trial_completed(TrialId id, const Config& config, const Result& last) override {
    if (last.training_iteration > 0) take(id, config, searchers::standing_of(last, sign_));
    unseen_.erase(id);
  }

  void on_trial_failed(TrialId id, const Config& config, bool) override {
    take(id, config, {.kind = Standing::Kind::failed});
    unseen_.erase(id);
  }

  [[nodiscard]] bool wants_results() const override { return false; }

  [[nodiscard]] std::string take_note() override { return std::exchange(note_, {}); }

  [[nodiscard]] Json save() const override;
  void restore(const Json& state) override;
  [[nodiscard]] Json options() const override;

 private:
  static void check(const CmaEsOptions& options);

  [[nodiscard]] std::int64_t first_population() const {
    if (options_.population_size > 0) return options_.population_size;
    const double size = static_cast<double>(std::max<std::size_t>(1, parameters_.size()));
    return 4 + static_cast<std::int64_t>(3 * std::log(size));
  }

  void begin_run(searchers::CmaStart start) {
    distribution_ = std::move(start.distribution);
    probabilities_ = std::move(start.probabilities);
    bests_.clear();
    model_.reset();
    keep_margins();
  }

  [[nodiscard]] Eigen::VectorXd drawn_place(Random& random, double widened) const {
    Eigen::VectorXd normal(distribution_.mean().size());
    Eigen::VectorXd place;
    for (int redraws = 0; redraws <= most_redraws; ++redraws) {
      for (double& coordinate : normal) coordinate = random.normal() * widened;
      place = distribution_.place(normal);
      if ((place.array() >= 0).all() && (place.array() < 1).all()) return place;
    }
    return place.cwiseMax(0).cwiseMin(1);
  }

  struct Draw {
    Eigen::VectorXd place;
    std::vector<std::int64_t> options;
  };

  [[nodiscard]] Draw drawn(double widened, double share, Random& random) const {
    Draw draw{.place = drawn_place(random, widened), .options = {}};
    for (const searchers::OptionProbabilities& probabilities : probabilities_) {
      draw.options.push_back(static_cast<std::int64_t>(probabilities.draw(random, share)));
    }
    return draw;
  }

  // Again after a duplicate: from further and further around.
  [[nodiscard]] Point chosen(const SuggestionRequest& request, Random& random) {
    const searchers::EncodedSpace& space = parameters_.space();
    const Point fixed = space.encode(request.fixed.json());
    if (request.attempt > most_widened) return space.sample(fixed, random);
    const auto share = static_cast<double>(request.attempt) / static_cast<double>(most_widened);
    Draw first = drawn(1 + 4 * share, share, random);
    Point best = parameters_.point(first.place, first.options, fixed);
    for (int redraws = 0; redraws < most_forbidden && !allows(best, request); ++redraws) {
      first = drawn(1 + 4 * share, share, random);
      best = parameters_.point(first.place, first.options, fixed);
    }
    if (request.attempt > 0 || options_.candidates == 1 || !has_model()) return best;
    // The model knows little of values that were not tried lately: now and then chance has its way.
    const bool keeps_discrete = random.uniform() < share_of_chance;
    double lowest = expected(best);
    for (std::int64_t i = 1; i < options_.candidates; ++i) {
      Draw other = drawn(1, 0, random);
      if (keeps_discrete) take_discrete(first, other);
      Point point = parameters_.point(other.place, other.options, fixed);
      const double score = expected(point);
      if (score >= lowest || !allows(point, request)) continue;
      lowest = score;
      best = std::move(point);
    }
    return best;
  }

  [[nodiscard]] bool allows(const Point& point, const SuggestionRequest& request) const {
    return constraints_ == nullptr ||
           constraints_->is_allowed(parameters_.space().decode(point, request.fixed.json()));
  }

  void take_discrete(const Draw& from, Draw& draw) const {
    draw.options = from.options;
    for (std::size_t i = 0; i < parameters_.numbers(); ++i) {
      const auto coordinate = static_cast<Eigen::Index>(i);
      if (!parameters_.is_continuous(i)) draw.place(coordinate) = from.place(coordinate);
    }
  }

  void take(TrialId id, const Config& config, const Standing& standing) {
    const Point point = parameters_.space().encode(config.json());
    const auto unseen = unseen_.find(id);
    const Eigen::VectorXd& otherwise =
        unseen == unseen_.end() ? distribution_.mean() : unseen->second;
    members_.push_back({.place = parameters_.place(point, otherwise),
                        .options = parameters_.options(point),
                        .standing = standing});
    model_.reset();
    ++fresh_;
    if (fresh_ >= population_) next_generation();
    const std::size_t kept =
        std::max(most_members, static_cast<std::size_t>(std::max(fresh_, population_)));
    if (members_.size() > kept) members_.erase(members_.begin());
  }

  void next_generation() {
    const std::vector<CmaMember> members(members_.end() - fresh_, members_.end());
    trials_[is_small_ ? 1 : 0] += fresh_;
    fresh_ = 0;
    const std::vector<std::size_t> order = searchers::ranked(members);
    const Standing& best = members[order.front()].standing;
    if (best.kind != Standing::Kind::has_loss) return;
    CmaGeneration generation;
    generation.weights = searchers::shared_weights(
        members, order,
        searchers::cma_weights(members.size(), std::max<std::size_t>(1, distribution_.size())));
    for (const std::size_t i : order) generation.places.push_back(members[i].place);
    // All equal: nothing to learn.
    if (generation.weights.front() > 0) {
      distribution_.update(generation);
      distribution_.limit_deviation(least_deviation, largest_deviation);
      move_probabilities(members, order, generation.weights);
      keep_margins();
    }
    bests_.push_back(best.loss);
    if (bests_.size() > generations_watched()) bests_.pop_front();
    if (options_.restarts != CmaRestarts::none && has_converged()) restart();
  }

  void move_probabilities(const std::vector<CmaMember>& members,
                          const std::vector<std::size_t>& order,
                          const std::vector<double>& weights) {
    for (std::size_t j = 0; j < probabilities_.size(); ++j) {
      for (std::size_t i = 0; i < order.size(); ++i) {
        const std::int64_t option = members[order[i]].options[j];
        if (weights[i] <= 0 || option < 0) continue;
        probabilities_[j].move_to(static_cast<std::size_t>(option), option_rate * weights[i]);
      }
      probabilities_[j].keep_least();
    }
  }

  void keep_margins() {
    const double margin = 1 / (static_cast<double>(population_) *
                               static_cast<double>(std::max<std::size_t>(1, distribution_.size())));
    for (std::size_t i = 0; i < distribution_.size(); ++i) {
      if (parameters_.is_continuous(i)) continue;
      keep_margin(distribution_, i,
                  parameters_.cell(i, distribution_.mean()(static_cast<Eigen::Index>(i))),
                  std::min(margin, 0.4));
    }
  }

  [[nodiscard]] std::size_t generations_watched() const {
    return 10 + 30 * distribution_.size() / static_cast<std::size_t>(population_);
  }

  [[nodiscard]] bool has_converged() const {
    if (distribution_.condition() > largest_condition) return true;
    bool has_continuous = false;
    bool is_narrow = true;
    for (std::size_t i = 0; i < distribution_.size(); ++i) {
      if (!parameters_.is_continuous(i)) continue;
      has_continuous = true;
      is_narrow = is_narrow && distribution_.deviation(i) < smallest_deviation;
    }
    if (has_continuous && is_narrow) return true;
    if (bests_.size() < generations_watched()) return false;
    const auto [low, high] = std::minmax_element(bests_.begin(), bests_.end());
    return *high - *low <= smallest_change * std::max(std::abs(*low), std::abs(*high));
  }

  void restart() {
    Random random(seed_, "cma_es/restart", ++restarts_);
    double sigma = options_.sigma0;
    is_small_ = options_.restarts == CmaRestarts::bipop && restarts_ > 1 && trials_[1] < trials_[0];
    const std::int64_t first = first_population();
    if (is_small_) {
      const double share = random.uniform();
      const double ratio = static_cast<double>(large_population_) / static_cast<double>(first);
      population_ = static_cast<std::int64_t>(static_cast<double>(first) *
                                              std::max(1.0, std::pow(0.5 * ratio, share * share)));
      sigma *= std::pow(10.0, -2 * random.uniform());
    } else {
      large_population_ = std::min(2 * std::max(large_population_, first), largest_population);
      population_ = std::max(large_population_, first);
    }
    begin_run(searchers::random_start(parameters_, options_, sigma, random));
  }

  [[nodiscard]] bool has_model() {
    if (model_) return true;
    const std::size_t fewest =
        std::max(static_cast<std::size_t>(population_), parameters_.size() + 2);
    if (members_.size() < fewest) return false;
    model_ = searchers::model_of(parameters_, distribution_, members_);
    return true;
  }

  [[nodiscard]] double expected(const Point& point) const {
    return model_->at(searchers::model_place(parameters_, distribution_, point));
  }

  CmaEsOptions options_;
  std::uint64_t seed_ = 0;
  double sign_ = 1;
  CmaParameters parameters_;
  CmaDistribution distribution_;
  std::vector<searchers::OptionProbabilities> probabilities_;
  std::vector<CmaMember> members_;  // ended, the newest last
  std::int64_t fresh_ = 0;          // of them, since the last generation
  std::int64_t population_ = 0;
  std::deque<double> bests_;                   // of the last generations of this run
  std::map<TrialId, Eigen::VectorXd> unseen_;  // places where a branch is not taken
  std::uint64_t restarts_ = 0;
  std::int64_t large_population_ = 0;         // of the last run with more trials; 0: the first
  std::array<std::int64_t, 2> trials_ = {};   // of runs with large and small populations
  const SearchSpace* constraints_ = nullptr;  // the space, if it has any
  bool is_first_ = true;                      // no trial was added yet
  std::string note_;                          // to be said of the suggestion just given
  bool is_small_ = false;                     // the run is one of the latter
  std::optional<RankModel> model_;            // made of the above when it is needed
};

void CmaEs::check(const CmaEsOptions& options) {
  const auto refuse = [](const char* key, const std::string& value, const char* wanted) {
    throw std::invalid_argument(std::string("cma_es: ") + key + " must be " + wanted + ", is " +
                                value);
  };
  if (!(options.sigma0 > 0 && options.sigma0 <= 1)) {
    refuse("sigma0", core::number_text(options.sigma0), "above 0 and at most 1");
  }
  if (!options.x0.is_object()) refuse("x0", core::value_text(options.x0), "a configuration");
  if (options.population_size != 0 && options.population_size < 3) {
    refuse("population_size", std::to_string(options.population_size), "at least 3, or 0");
  }
  if (options.population_size > largest_population) {
    refuse("population_size", std::to_string(options.population_size), "at most 1000");
  }
  if (options.candidates < 1) {
    refuse("candidates", std::to_string(options.candidates), "at least 1");
  }
  if (options.full_covariance_up_to < 0) {
    refuse("full_covariance_up_to", std::to_string(options.full_covariance_up_to), "at least 0");
  }
  if (!options.source.empty() && !options.x0.empty()) {
    refuse("x0", core::value_text(options.x0), "left out where there is a source");
  }
}

Json CmaEs::save() const {
  Json probabilities = Json::array();
  for (const auto& each : probabilities_) probabilities.push_back(each.save());
  Json bests = Json::array();
  for (const double best : bests_) bests.push_back(best);
  Json unseen = Json::array();
  for (const auto& [id, place] : unseen_) {
    unseen.push_back({id.value(), std::vector<double>(place.begin(), place.end())});
  }
  return {{"distribution", distribution_.save()},
          {"probabilities", std::move(probabilities)},
          {"members", searchers::saved_members(members_)},
          {"is_first", is_first_},
          {"fresh", fresh_},
          {"population", population_},
          {"bests", std::move(bests)},
          {"unseen", std::move(unseen)},
          {"restarts", restarts_},
          {"large_population", large_population_},
          {"trials", trials_},
          {"is_small", is_small_}};
}

void CmaEs::restore(const Json& state) {
  distribution_.restore(state.at("distribution"));
  for (std::size_t i = 0; i < probabilities_.size(); ++i) {
    probabilities_[i].restore(state.at("probabilities").at(i));
  }
  members_ = searchers::restored_members(state.at("members"));
  is_first_ = state.at("is_first").get<bool>();
  fresh_ = state.at("fresh").get<std::int64_t>();
  population_ = state.at("population").get<std::int64_t>();
  bests_ = state.at("bests").get<std::deque<double>>();
  unseen_.clear();
  for (const Json& entry : state.at("unseen")) {
    const auto place = entry.at(1).get<std::vector<double>>();
    unseen_[TrialId{entry.at(0).get<std::uint64_t>()}] =
        Eigen::Map<const Eigen::VectorXd>(place.data(), static_cast<Eigen::Index>(place.size()));
  }
  restarts_ = state.at("restarts").get<std::uint64_t>();
  large_population_ = state.at("large_population").get<std::int64_t>();
  trials_ = state.at("trials").get<std::array<std::int64_t, 2>>();
  is_small_ = state.at("is_small").get<bool>();
  model_.reset();
}

Json CmaEs::options() const {
  Json source = Json::array();
  for (const CmaSourceTrial& trial : options_.source) {
    source.push_back({{"config", trial.config}, {"value", core::saved_number(trial.value)}});
  }
  return {{"name", "cma_es"},
          {"sigma0", options_.sigma0},
          {"x0", options_.x0},
          {"population_size", options_.population_size},
          {"restarts", to_string(options_.restarts)},
          {"candidates", options_.candidates},
          {"full_covariance_up_to", options_.full_covariance_up_to},
          {"source", std::move(source)}};
}

}  // namespace

std::string_view to_string(CmaRestarts restarts) {
  switch (restarts) {
    case CmaRestarts::none:
      return "none";
    case CmaRestarts::ipop:
      return "ipop";
    case CmaRestarts::bipop:
      return "bipop";
  }
  return "?";
}

CmaRestarts cma_restarts_from_string(std::string_view text) {
  for (const CmaRestarts restarts : {CmaRestarts::none, CmaRestarts::ipop, CmaRestarts::bipop}) {
    if (text == to_string(restarts)) return restarts;
  }
  throw std::invalid_argument("restarts is \"" + std::string(text) +
                              "\", allowed are \"none\", \"ipop\" and \"bipop\"");
}

std::unique_ptr<Searcher> cma_es(const CmaEsOptions& options) {
  return std::make_unique<CmaEs>(options);
}

}  // namespace tune
