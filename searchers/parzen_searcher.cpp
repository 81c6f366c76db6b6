#include "parzen_searcher.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tune::searchers {
namespace {

constexpr double open_place = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t fewest_trials = 4;       // below, a branch has no model
constexpr std::uint64_t patient_attempts = 4;  // duplicates after which the model is left
constexpr int most_tries = 100;                // to meet the constraints
constexpr double largest_place = 1 - 0x1p-53;

// The logarithm of how much likelier than in the middle of the good ones: the best counts most, and
// all together as much as there are (the weights of CMA-ES; Hansen 2016, equation 49).
std::vector<double> good_weights(std::size_t count) {
  std::vector<double> weights;
  double whole = 0;
  for (std::size_t i = 0; i < count; ++i) {
    weights.push_back(std::log(static_cast<double>(count + 1) / static_cast<double>(i + 1)));
    whole += weights.back();
  }
  for (double& weight : weights) weight *= static_cast<double>(count) / whole;
  return weights;
}

// Hyperopt's "magic clip": no kernel is narrower than its fair share of the space.
double least_width(std::size_t kernels) {
  return 1 / static_cast<double>(std::min<std::size_t>(100, kernels + 1));
}

// Of the good group, whose size is bounded, it goes on to shrink as trials are added, or the search
// would not get nearer to the best value than that.
double least_good_width(std::size_t good, std::size_t trials) {
  constexpr double trials_to_shrink = 30;
  constexpr double least = 0.003;
  const double factor = std::sqrt(trials_to_shrink / static_cast<double>(trials));
  return std::max(least, least_width(good) * std::min(1.0, factor));
}

// The numbers of the candidates, the one whose densities differ most first.
std::vector<std::size_t> best_first(const ParzenMixture& good, const ParzenMixture& bad,
                                    const std::vector<double>& rows) {
  std::vector<double> gains = good.log_densities(rows);
  const std::vector<double> losses = bad.log_densities(rows);
  std::vector<std::size_t> order(gains.size());
  for (std::size_t i = 0; i < gains.size(); ++i) {
    gains[i] -= losses[i];
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return gains[a] > gains[b]; });
  return order;
}

}  // namespace

void ParzenSearcher::setup(const SearcherSetup& setup) {
  seed_ = setup.seed;
  given_ = setup.space;
  is_constrained_ = !setup.space->constraints().empty();
  space_ = EncodedSpace(*setup.space);
  columns_ = ParzenColumns(space_);
  observations_ = Observations(space_, setup.objective.value(), rules_.reduction_factor);
  points_.emplace(columns_);
  changed_.clear();
}

Suggestion ParzenSearcher::suggest(const SuggestionRequest& request) {
  rank_changed();
  Random random(seed_, rules_.name, request.trial.value(), request.attempt);
  const Point fixed = space_.encode(request.fixed.json());
  const bool is_drawn =
      space_.size() == 0 || is_random(observations_, random) || request.attempt >= patient_attempts;
  const Allows allows = [&](const Point& point) {
    return !is_constrained_ || given_->is_allowed(space_.decode(point, request.fixed.json()));
  };
  const Point point =
      is_drawn ? sample_allowed(fixed, allows, random) : propose(fixed, allows, random);
  return Config(space_.decode(point, request.fixed.json()));
}

// One that is not allowed if none is found: then it is asked again.
Point ParzenSearcher::sample_allowed(const Point& known, const Allows& allows,
                                     Random& random) const {
  Point point = space_.sample(known, random);
  for (int tries = 1; tries < most_tries && !allows(point); ++tries) {
    point = space_.sample(known, random);
  }
  return point;
}

void ParzenSearcher::on_trial_added(TrialId id, const Config& config) {
  observations_.on_trial_added(id, config);
  note(id);
}

void ParzenSearcher::on_trial_result(TrialId id, const Config& config, const Result& result) {
  observations_.on_trial_result(id, config, result);
  note(id);
}

void ParzenSearcher::on_trial_completed(TrialId id, const Config& config, const Result& last) {
  observations_.on_trial_completed(id, config, last);
  note(id);
}

void ParzenSearcher::on_trial_failed(TrialId id, const Config& config, bool infeasible) {
  observations_.on_trial_failed(id, config, infeasible);
  note(id);
}

void ParzenSearcher::note(TrialId id) {
  const std::size_t number = observations_.find(id).value();
  if (changed_.empty() || changed_.back() != number) changed_.push_back(number);
}

void ParzenSearcher::rank_changed() {
  if (look(observations_, space_)) {
    points_.emplace(columns_);
    changed_.clear();
    for (std::size_t number = 0; number < observations_.size(); ++number) {
      changed_.push_back(number);
    }
  }
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (const std::size_t number : changed_) {
    const Observation& observation = observations_.all()[number];
    points_->set(number, observation.point, rank(observation));
  }
  changed_.clear();
}

Point ParzenSearcher::propose(const Point& fixed, const Allows& allows, Random& random) const {
  const ForcedKeys keys = choose_branches(space_, columns_, *points_, fixed, random);
  Point known = fixed;
  for (const auto& [d, key] : keys) known[d] = static_cast<double>(key);
  const Groups groups = split(keys);
  if (groups.good.empty() || groups.good.size() + groups.bad.size() < fewest_trials) {
    return sample_allowed(known, allows, random);
  }
  return rules_.multivariate ? draw_together(known, groups, allows, random)
                             : draw_each(known, groups, allows, random);
}

ParzenSearcher::Groups ParzenSearcher::split(const ForcedKeys& keys) const {
  Numbers among;
  for (const std::size_t number : points_->order()) {
    if (has_keys(columns_, points_->row(number), keys)) among.push_back(number);
  }
  const auto has_no_value = [this](std::size_t number) {
    return !std::isfinite(points_->rank(number)->loss);
  };
  // Those without a value are the last.
  const auto end = std::partition_point(among.begin(), among.end(),
                                        [&](std::size_t number) { return !has_no_value(number); });
  const auto usable = static_cast<double>(end - among.begin());
  const auto count =
      std::min(static_cast<std::size_t>(std::ceil(rules_.good_share * usable)), rules_.most_good);
  const auto first_bad = among.begin() + static_cast<std::ptrdiff_t>(count);
  Groups groups{.good = {among.begin(), first_bad},
                .bad = thinned({first_bad, among.end()}),
                .bad_weights = {},
                .ended = among.size() - count};
  // Each stands for so many.
  const double weight = static_cast<double>(groups.ended) / static_cast<double>(groups.bad.size());
  groups.bad_weights.assign(groups.bad.size(), weight);
  for (const std::size_t number : points_->unranked()) {
    if (!has_keys(columns_, points_->row(number), keys)) continue;
    groups.bad.push_back(number);
    groups.bad_weights.push_back(1);
  }
  return groups;
}

// Evenly spaced by rank.
ParzenSearcher::Numbers ParzenSearcher::thinned(Numbers numbers) const {
  const std::size_t most = rules_.max_kernels;
  if (most == 0 || numbers.size() <= most) return numbers;
  for (std::size_t i = 0; i < most; ++i) {
    numbers[i] = numbers[(2 * i + 1) * numbers.size() / (2 * most)];
  }
  numbers.resize(most);
  return numbers;
}

std::vector<double> ParzenSearcher::gather(const Numbers& numbers) const {
  std::vector<double> rows;
  rows.reserve(numbers.size() * columns_.size());
  for (const std::size_t number : numbers) {
    const auto row = points_->row(number);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

Point ParzenSearcher::draw_together(const Point& known, const Groups& groups, const Allows& allows,
                                    Random& random) const {
  ParzenMixture ours(columns_.all());
  ours.build(gather(groups.good), good_weights(groups.good.size()), rules_.prior_weight,
             least_good_width(groups.good.size(), groups.good.size() + groups.ended));
  ParzenMixture theirs(columns_.all());
  theirs.build(gather(groups.bad), groups.bad_weights, bad_prior(groups),
               least_width(groups.ended));
  std::vector<Point> points;
  std::vector<double> rows(rules_.candidates * columns_.size());
  for (std::size_t i = 0; i < rules_.candidates; ++i) {
    points.push_back(draw_point(ours, known, random));
    columns_.write(points.back(), std::span(rows).subspan(i * columns_.size(), columns_.size()));
  }
  for (const std::size_t i : best_first(ours, theirs, rows)) {
    if (allows(points[i])) return points[i];
  }
  return sample_allowed(known, allows, random);
}

// The uniform kernel has the same share of both mixtures. With the same weight, a place where
// nobody has been would be the likelier to be good the more trials there are elsewhere, and the
// search would scatter. Trials that still run do scatter it: they are not counted here.
double ParzenSearcher::bad_prior(const Groups& groups) const {
  return rules_.prior_weight *
         std::max(1.0, static_cast<double>(groups.ended) / static_cast<double>(groups.good.size()));
}

Point ParzenSearcher::draw_point(const ParzenMixture& good, const Point& known,
                                 Random& random) const {
  std::vector<double> row(columns_.size());
  columns_.write(known, row);
  const std::size_t kernel = good.draw_kernel(row, random);
  Point point(space_.size(), open_place);
  for (std::size_t d = 0; d < space_.size(); ++d) {
    if (!space_.is_active(d, point)) continue;
    const std::size_t c = columns_.of(d);
    point[d] =
        std::isnan(known[d]) ? draw_place(good, kernel, c, columns_.all()[c], random) : known[d];
  }
  return point;
}

double ParzenSearcher::draw_place(const ParzenMixture& mixture, std::size_t kernel, std::size_t c,
                                  const ParzenColumn& column, Random& random) const {
  const double place = mixture.draw(kernel, c, random);
  if (column.is_categorical) return place;
  return column.count > 0 ? column.centres[column.cell(place)] : std::min(place, largest_place);
}

// A model of one parameter at a time, of the trials that have it.
Point ParzenSearcher::draw_each(const Point& known, const Groups& groups, const Allows& allows,
                                Random& random) const {
  Point point;
  for (int tries = 0; tries < most_tries; ++tries) {
    point.assign(space_.size(), open_place);
    for (std::size_t d = 0; d < space_.size(); ++d) {
      if (!space_.is_active(d, point)) continue;
      point[d] = std::isnan(known[d]) ? draw_alone(columns_.of(d), groups, random) : known[d];
    }
    if (allows(point)) return point;
  }
  return sample_allowed(known, allows, random);
}

double ParzenSearcher::draw_alone(std::size_t c, const Groups& groups, Random& random) const {
  const std::vector<ParzenColumn> column = {columns_.all()[c]};
  std::vector<double> good;
  for (const std::size_t number : groups.good) {
    const double place = points_->row(number)[c];
    if (!std::isnan(place)) good.push_back(place);
  }
  std::vector<double> bad;
  std::vector<double> bad_weights;
  for (std::size_t i = 0; i < groups.bad.size(); ++i) {
    const double place = points_->row(groups.bad[i])[c];
    if (std::isnan(place)) continue;
    bad.push_back(place);
    bad_weights.push_back(groups.bad_weights[i]);
  }
  ParzenMixture ours(column);
  ours.build(good, good_weights(good.size()), rules_.prior_weight,
             least_good_width(good.size(), groups.good.size() + groups.ended));
  ParzenMixture theirs(column);
  theirs.build(bad, bad_weights, bad_prior(groups), least_width(bad.size()));
  std::vector<double> places;
  for (std::size_t i = 0; i < rules_.candidates; ++i) {
    const std::size_t kernel = ours.draw_kernel(std::span(&open_place, 1), random);
    places.push_back(draw_place(ours, kernel, 0, column[0], random));
  }
  return places[best_first(ours, theirs, places).front()];
}

Json ParzenSearcher::save() const { return {{"observations", observations_.save()}}; }

void ParzenSearcher::restore(const Json& state) {
  observations_.restore(state.at("observations"));
  points_.emplace(columns_);
  changed_.clear();
  for (std::size_t number = 0; number < observations_.size(); ++number) {
    changed_.push_back(number);
  }
}

}  // namespace tune::searchers
