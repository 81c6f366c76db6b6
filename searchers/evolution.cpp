#include <tune/searchers/evolution.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/number_text.hpp"
#include "core/saved_number.hpp"
#include "searchers/encoded_space.hpp"
#include "standing.hpp"

namespace tune {
namespace {

using searchers::EncodedSpace;
using searchers::Point;
using searchers::Standing;

// A number that shall not be its parent's is drawn so often, then taken as it is.
constexpr int most_mutations_drawn = 20;
// Draws in a row that a constraint refuses; then the last one is given.
constexpr int most_forbidden = 100;

class Evolution final : public Searcher {
 public:
  explicit Evolution(const EvolutionOptions& options) : options_(options) { check(options); }

  void setup(const SearcherSetup& setup) override {
    seed_ = setup.seed;
    sign_ = setup.objective && setup.objective->mode == Mode::max ? -1 : 1;
    space_ = EncodedSpace(*setup.space);
    constraints_ = setup.space->constraints().empty() ? nullptr : setup.space;
    population_.clear();
    added_ = 0;
  }

  Suggestion suggest(const SuggestionRequest& request) override {
    Random random(seed_, "evolution", request.trial.value(), request.attempt);
    const Point fixed = space_.encode(request.fixed.json());
    const bool is_random = added_ < options_.population_size || population_.empty();
    Json config;
    for (int draws = 0; draws < most_forbidden; ++draws) {
      const Point point =
          is_random ? space_.sample(fixed, random) : child(fixed, request.attempt, random);
      config = space_.decode(point, request.fixed.json());
      if (constraints_ == nullptr || constraints_->is_allowed(config)) break;
    }
    return Config(std::move(config));
  }

  void on_trial_added(TrialId, const Config&) override { ++added_; }

  void on_trial_completed(TrialId, const Config& config, const Result& last) override {
    if (last.training_iteration == 0) return;
    population_.push_back({space_.encode(config.json()), searchers::standing_of(last, sign_)});
    if (std::cmp_greater(population_.size(), options_.population_size)) population_.pop_front();
  }

  [[nodiscard]] bool wants_results() const override { return false; }

  [[nodiscard]] Json save() const override {
    Json population = Json::array();
    for (const Member& member : population_) {
      Json point = Json::array();
      for (const double place : member.point) point.push_back(core::saved_number(place));
      population.push_back({std::move(point), member.standing.save()});
    }
    return {{"added", added_}, {"population", std::move(population)}};
  }

  void restore(const Json& state) override {
    added_ = state.at("added").get<std::int64_t>();
    population_.clear();
    for (const Json& entry : state.at("population")) {
      Member& member = population_.emplace_back();
      for (const Json& place : entry.at(0)) {
        member.point.push_back(core::restored_number(place, "evolution"));
      }
      member.standing.restore(entry.at(1));
    }
  }

  [[nodiscard]] Json options() const override {
    return {{"name", "evolution"},
            {"population_size", options_.population_size},
            {"sample_size", options_.sample_size},
            {"mutations", options_.mutations},
            {"mutation_scale", options_.mutation_scale}};
  }

 private:
  struct Member {
    Point point;
    Standing standing;
  };

  static void check(const EvolutionOptions& options) {
    const auto refuse = [](const char* key, const std::string& value, const std::string& wanted) {
      throw std::invalid_argument(std::string("evolution: ") + key + " must be " + wanted +
                                  ", is " + value);
    };
    if (options.population_size < 2) {
      refuse("population_size", std::to_string(options.population_size), "at least 2");
    }
    if (options.sample_size < 1 || options.sample_size > options.population_size) {
      refuse("sample_size", std::to_string(options.sample_size),
             "at least 1 and at most population_size, " + std::to_string(options.population_size));
    }
    if (options.mutations < 1) refuse("mutations", std::to_string(options.mutations), "at least 1");
    if (!(options.mutation_scale > 0 && options.mutation_scale <= 1)) {
      refuse("mutation_scale", core::number_text(options.mutation_scale), "above 0 and at most 1");
    }
  }

  // The best of a few, each drawn from all: as in the paper, one may be drawn twice.
  [[nodiscard]] const Member& parent(Random& random) const {
    std::size_t best = random.below(population_.size());
    for (std::int64_t i = 1; i < options_.sample_size; ++i) {
      const std::size_t other = random.below(population_.size());
      const Standing& a = population_[other].standing;
      const Standing& b = population_[best].standing;
      if (a < b || (a == b && other > best)) best = other;
    }
    return population_[best];
  }

  [[nodiscard]] Point child(const Point& fixed, std::uint64_t attempt, Random& random) const {
    const Point from = parent(random).point;
    // First the parent as it would be here, without what is fixed otherwise.
    Point point = grown(from, fixed, random);
    const std::uint64_t count = static_cast<std::uint64_t>(options_.mutations) + attempt;
    std::vector<std::size_t> changed;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::vector<std::size_t> open = changeable(point, fixed, changed);
      if (open.empty()) break;
      const std::size_t d = open[random.below(open.size())];
      changed.push_back(d);
      point[d] = mutated(d, point[d], random);
      point = grown(point, fixed, random);
    }
    return point;
  }

  // Active parameters that are not fixed, have another value and were not changed yet.
  [[nodiscard]] std::vector<std::size_t> changeable(const Point& point, const Point& fixed,
                                                    const std::vector<std::size_t>& changed) const {
    std::vector<std::size_t> open;
    for (std::size_t d = 0; d < space_.size(); ++d) {
      if (std::isnan(point[d]) || !std::isnan(fixed[d]) || space_.dimensions()[d].count == 1) {
        continue;
      }
      if (std::find(changed.begin(), changed.end(), d) == changed.end()) open.push_back(d);
    }
    return open;
  }

  // `point` with what is fixed; what its branches lack is drawn, what they do not have falls away.
  [[nodiscard]] Point grown(const Point& point, const Point& fixed, Random& random) const {
    Point given = point;
    for (std::size_t d = 0; d < space_.size(); ++d) {
      if (!std::isnan(fixed[d])) given[d] = fixed[d];
    }
    return space_.sample(given, random);
  }

  [[nodiscard]] double mutated(std::size_t d, double from, Random& random) const {
    const searchers::Dimension& dimension = space_.dimensions()[d];
    if (dimension.is_categorical) {
      const auto other = static_cast<double>(random.below(*dimension.count - 1));
      return other < from ? other : other + 1;
    }
    // So that a step can leave the value even where it has a large share.
    const UnitInterval cell = space_.cell(d, from);
    const double scale = std::max(options_.mutation_scale, cell.last - cell.first);
    double place = from;
    for (int i = 0; i < most_mutations_drawn; ++i) {
      place = space_.snapped(d, mirrored(from + scale * random.normal()));
      if (place != space_.snapped(d, from)) break;
    }
    return place;
  }

  // Inside [0, 1], as often as it takes.
  [[nodiscard]] static double mirrored(double place) {
    const double folded = std::abs(std::remainder(place, 2.0));
    return std::min(folded, 1.0);
  }

  EvolutionOptions options_;
  std::uint64_t seed_ = 0;
  double sign_ = 1;
  EncodedSpace space_;
  const SearchSpace* constraints_ = nullptr;  // the space, if it has any
  std::deque<Member> population_;             // the oldest first
  std::int64_t added_ = 0;
};

}  // namespace

std::unique_ptr<Searcher> evolution(const EvolutionOptions& options) {
  return std::make_unique<Evolution>(options);
}

}  // namespace tune
