#include "engine/suggestion_source.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "configuration_builder.hpp"
#include "core/enumeration.hpp"
#include "core/number_text.hpp"
#include "core/objective.hpp"
#include "core/option_name.hpp"
#include "engine/turn_plan.hpp"
#include "seen_configurations.hpp"

namespace tune::engine {
namespace {

using core::Enumeration;

// After so many duplicates in a row a free configuration is picked from a list, if it can be made.
constexpr std::uint64_t attempts_before_listing = 100;
constexpr std::uint64_t longest_list = 100'000;
// After so many a duplicate is taken.
constexpr std::uint64_t most_attempts = 1000;
// After so many answers in a row that no constraint allows, values are drawn without the searcher.
constexpr std::uint64_t most_forbidden = 100;
constexpr std::uint64_t most_drawn = 100'000;
// Lists kept to be used again, in configurations; made anew when they are needed again.
constexpr std::size_t most_listed = 1'000'000;

std::string searcher_name(const Searcher& searcher) {
  const Json options = searcher.options();
  return core::option_name(options, options.dump());
}

std::optional<std::uint64_t> checked_samples(std::int64_t num_samples, const Searcher& searcher) {
  if (num_samples < 1 && num_samples != -1) {
    throw std::invalid_argument("num_samples is " + std::to_string(num_samples) +
                                ", must be at least 1, or -1 for no end");
  }
  if (num_samples > 0) return static_cast<std::uint64_t>(num_samples);
  return searcher.enumerates() ? std::optional<std::uint64_t>(1) : std::nullopt;
}

Enumeration::Axes axes_of(const Searcher& searcher) {
  return searcher.enumerates() ? Enumeration::Axes::all : Enumeration::Axes::grid;
}

// What cannot be counted is refused where the turns are planned.
std::optional<std::uint64_t> trials_of(const Searcher& searcher, const SearchSpace& space,
                                       std::int64_t num_samples) {
  const std::optional<std::uint64_t> samples = checked_samples(num_samples, searcher);
  const std::optional<std::uint64_t> cells = Enumeration(space, axes_of(searcher)).count();
  std::uint64_t trials = 0;
  if (!samples || !cells || __builtin_mul_overflow(*samples, *cells, &trials)) return std::nullopt;
  return trials;
}

const Searcher& set_up(Searcher* searcher, const SearchSpace& space,
                       const SuggestionOptions& options) {
  if (searcher == nullptr) throw std::invalid_argument("there is no searcher");
  const std::optional<Objective> objective =
      core::resolve(searcher->objective(), options.objective);
  if (searcher->needs_metric() && !objective) {
    throw std::invalid_argument("searcher " + searcher_name(*searcher) +
                                " needs a metric and a mode, and there are none");
  }
  searcher->setup({.space = &space,
                   .objective = objective,
                   .seed = options.seed,
                   .trials = trials_of(*searcher, space, options.num_samples)});
  return *searcher;
}

// The cell of a draw has no configuration left that no trial had.
struct UsedUp {};
using Draw = std::variant<Json, Wait, Exhausted, UsedUp>;

}  // namespace

class SuggestionSource::Implementation {
 public:
  Implementation(SearchSpace space, SuggestionOptions options, std::unique_ptr<Searcher>& searcher)
      : space_(std::move(space)),
        options_(std::move(options)),
        builder_(space_, options_.seed, searcher_name(set_up(searcher.get(), space_, options_))),
        plan_(space_, axes_of(*searcher), checked_samples(options_.num_samples, *searcher)),
        avoids_duplicates_(options_.avoid_duplicates &&
                           Enumeration(space_, Enumeration::Axes::all).count() != plan_.cells()) {
    for (const Json& point : options_.points_to_evaluate) add_point(point);
    searcher_ = std::move(searcher);
  }

  [[nodiscard]] std::optional<std::uint64_t> total() const { return plan_.total(); }

  [[nodiscard]] Suggestion suggest(TrialId id) {
    Proposal proposal = propose(id);
    if (const auto* config = std::get_if<Config>(&proposal.answer)) {
      ++(next_point_ < points_.size() ? next_point_ : next_turn_);
      remember(proposal.drawn, proposal.cell);
      searcher_->on_trial_added(id, *config);
    }
    return std::move(proposal.answer);
  }

  [[nodiscard]] Suggestion ask_again(TrialId id) {
    Suggestion answer = propose(id).answer;
    (void)take_note();  // which is on record
    return answer;
  }

  void take_suggestion(TrialId id, const Config& config) {
    const Json drawn = builder_.drawn_part(config.json());
    if (next_point_ < points_.size()) {
      remember(drawn, points_[next_point_++].cell);
    } else {
      const std::optional<std::uint64_t> cell = plan_.find_cell(drawn);
      if (cell) pass_over_used_up(*cell);
      ++next_turn_;
      remember(drawn, cell.value_or(plan_.cells()));
    }
    searcher_->on_trial_added(id, config);
  }

  [[nodiscard]] Searcher& searcher() const { return *searcher_; }

  [[nodiscard]] std::string take_note() {
    std::string said = searcher_->take_note();
    if (note_.empty()) return said;
    return std::exchange(note_, {}) + (said.empty() ? "" : "; " + said);
  }

  [[nodiscard]] Json save() const {
    Json of_searcher = searcher_->save();
    // It is told everything again, and so are we.
    if (of_searcher.is_null()) return nullptr;
    Json state = Json::object();
    state["next_point"] = next_point_;
    state["next_turn"] = next_turn_;
    state["used_up"] = used_up_;
    state["seen"] = seen_.save();
    state["searcher"] = std::move(of_searcher);
    return state;
  }

  void restore(const Json& state) {
    next_point_ = state.at("next_point").get<std::size_t>();
    next_turn_ = state.at("next_turn").get<std::uint64_t>();
    used_up_ = state.at("used_up").get<std::set<std::uint64_t>>();
    seen_.restore(state.at("seen"));
    unused_.clear();
    searcher_->restore(state.at("searcher"));
  }

 private:
  struct Point {
    Json fixed;  // its values and its cell's
    std::uint64_t cell = 0;
  };
  struct Unused {
    std::uint64_t index = 0;  // within the cell
    ConfigurationKey key;
  };
  using UnusedList = std::vector<Unused>;
  struct Proposal {
    Suggestion answer;
    Json drawn = {};  // of a configuration, as that is
    std::uint64_t cell = 0;
  };

  Proposal propose(TrialId id) {
    return next_point_ < points_.size() ? propose_point(id) : propose_turn(id);
  }

  void add_point(const Json& point) {
    const std::string name = "points_to_evaluate[" + std::to_string(points_.size()) + "]: ";
    try {
      space_.check_point(point);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(name + error.what());
    }
    Json fixed = builder_.normalised(point);
    if (!builder_.leaves_choice(fixed) && !space_.is_allowed(fixed)) {
      throw std::invalid_argument(name + core::value_text(point) + " is not allowed by " +
                                  constraints_text());
    }
    const std::optional<std::uint64_t> turn = plan_.take(fixed);
    if (!turn) {
      throw std::invalid_argument(
          name + core::value_text(point) + " has no turn left, since num_samples is " +
          std::to_string(options_.num_samples) +
          "; it must be at least the number of points that share a grid cell");
    }
    const std::uint64_t cell = plan_.cell_of(*turn);
    plan_.put(cell, fixed);
    points_.push_back({std::move(fixed), cell});
  }

  Proposal propose_point(TrialId id) {
    const Point& point = points_[next_point_];
    // A searcher that has nothing to choose here could only stand in the way of the user's point.
    const Draw answer = builder_.leaves_choice(point.fixed)
                            ? draw(id, point.fixed, std::nullopt)
                            : builder_.assemble(point.fixed, Json::object());
    if (std::holds_alternative<Wait>(answer)) return {Wait{}};
    if (!std::holds_alternative<Json>(answer)) return {Exhausted{}};
    const Json& drawn = std::get<Json>(answer);
    return {builder_.complete(drawn, point.fixed, id), drawn, point.cell};
  }

  Proposal propose_turn(TrialId id) {
    while (used_up_.size() < plan_.cells()) {
      if (plan_.total() && next_turn_ >= *plan_.total()) break;
      const std::uint64_t cell = plan_.cell_of(next_turn_);
      if (plan_.is_taken(next_turn_) || used_up_.contains(cell)) {
        ++next_turn_;
        continue;
      }
      Json fixed = Json::object();
      plan_.put(cell, fixed);
      const Draw answer = draw(id, fixed, cell);
      if (std::holds_alternative<Wait>(answer)) return {Wait{}};
      if (std::holds_alternative<Exhausted>(answer)) return {Exhausted{}};
      if (std::holds_alternative<UsedUp>(answer)) {
        used_up_.insert(cell);
        continue;
      }
      const Json& drawn = std::get<Json>(answer);
      return {builder_.complete(drawn, fixed, id), drawn, cell};
    }
    if (id == TrialId(0) && !space_.constraints().empty()) {
      throw std::runtime_error("no configuration of the search space is allowed by " +
                               constraints_text());
    }
    return {Exhausted{}};
  }

  // Goes to the next turn of a cell. Those before it that were free had nothing left to give.
  void pass_over_used_up(std::uint64_t cell) {
    const auto is_next = [&](std::uint64_t turn) {
      return plan_.cell_of(turn) == cell && !plan_.is_taken(turn);
    };
    std::uint64_t turn = next_turn_;
    for (std::uint64_t looked_at = 0; !is_next(turn); ++turn) {
      if (++looked_at > 2 * plan_.cells())
        return;  // another space: then the order is of no account
    }
    for (; next_turn_ < turn; ++next_turn_) {
      if (!plan_.is_taken(next_turn_)) used_up_.insert(plan_.cell_of(next_turn_));
    }
  }

  // The searcher's answer, asked for again while it repeats an earlier trial or is not allowed.
  // Without a cell it is for a point of the user, which is run in any case.
  Draw draw(TrialId id, const Json& fixed, std::optional<std::uint64_t> cell) {
    const bool leaves_choice = builder_.leaves_choice(fixed);
    const bool redraws = avoids_duplicates_ && leaves_choice;
    std::optional<std::uint64_t> count;  // of configurations with this `fixed`
    std::uint64_t forbidden = 0;         // answers in a row
    for (std::uint64_t attempt = 0;; ++attempt) {
      const Suggestion answer = ask(id, fixed, attempt);
      if (std::holds_alternative<Wait>(answer)) return Wait{};
      if (std::holds_alternative<Exhausted>(answer)) return Exhausted{};
      Json drawn = builder_.assemble(fixed, std::get<Config>(answer).json());
      const bool is_allowed = space_.is_allowed(drawn);
      const bool is_duplicate = redraws && is_seen(drawn) && !searcher_->is_repetition();
      if (is_allowed && !is_duplicate) return drawn;
      if (!is_allowed && !leaves_choice) return none_left(fixed, cell);

      if (attempt == 0) count = Enumeration(space_, Enumeration::Axes::all, fixed).count();
      if (is_allowed && count == 1) return drawn;  // no free dimension: run as often as asked
      const bool can_list = count && *count <= longest_list;
      const bool may_be_used_up = attempt == 0 && can_list && seen_.size() >= *count;
      if (may_be_used_up || (can_list && attempt == attempts_before_listing)) {
        const UnusedList& unused = unused_in(fixed, *count, cell);
        if (unused.empty() && is_allowed && !cell) return drawn;
        if (unused.empty()) return none_left(fixed, cell);
        if (!may_be_used_up) return picked(id, fixed, unused);
      }
      forbidden = is_allowed ? 0 : forbidden + 1;
      if (forbidden == most_forbidden && !can_list) return drawn_allowed(id, fixed, cell);
      if (attempt >= most_attempts)
        return is_allowed ? Draw(drawn) : drawn_allowed(id, fixed, cell);
    }
  }

  // A cell ends; a point of the user must not be passed over silently.
  Draw none_left(const Json& fixed, std::optional<std::uint64_t> cell) const {
    if (cell) return UsedUp{};
    throw std::runtime_error("no configuration with " + fixed.dump() + " is allowed by " +
                             constraints_text());
  }

  // From the domains, as random search does.
  Draw drawn_allowed(TrialId id, const Json& fixed, std::optional<std::uint64_t> cell) {
    for (std::uint64_t attempt = 0; attempt < most_drawn; ++attempt) {
      Random random(options_.seed, "allowed", id.value(), attempt);
      Json drawn = builder_.drawn(fixed, random);
      if (space_.is_allowed(drawn)) return drawn;
    }
    const std::string text = "none of " + std::to_string(most_drawn) +
                             " configurations drawn with " + fixed.dump() + " is allowed by " +
                             constraints_text();
    if (!cell || plan_.cells() == 1) throw std::runtime_error(text);
    note_ += (note_.empty() ? "" : "; ") + text + ", this grid cell is passed over";
    return UsedUp{};
  }

  [[nodiscard]] std::string constraints_text() const {
    std::string text = space_.constraints().size() == 1 ? "constraint" : "the constraints";
    for (const std::string& name : space_.constraints()) text += " " + core::value_text(name);
    return text;
  }

  Suggestion ask(TrialId id, const Json& fixed, std::uint64_t attempt) {
    return searcher_->suggest({.trial = id,
                               .fixed = Config(fixed),
                               .attempt = attempt,
                               .random = Random(options_.seed, "searcher", id.value(), attempt)});
  }

  [[nodiscard]] bool is_seen(const Json& drawn) const {
    return seen_.contains(configuration_key(drawn));
  }

  // All configurations with this `fixed` that no trial had, in the order of the space. Kept for a
  // cell, since the last ones of a large cell are all found in this way.
  const UnusedList& unused_in(const Json& fixed, std::uint64_t count,
                              std::optional<std::uint64_t> cell) {
    if (cell && unused_.contains(*cell)) return unused_.at(*cell);
    const Enumeration all(space_, Enumeration::Axes::all, fixed);
    UnusedList unused;
    for (std::uint64_t index = 0; index < count; ++index) {
      const Json config = listed(all, index, fixed);
      if (!space_.is_allowed(config)) continue;
      const ConfigurationKey key = configuration_key(config);
      if (!seen_.contains(key)) unused.push_back({index, key});
    }
    if (!cell) return unused_of_point_ = std::move(unused);
    std::size_t listed_before = 0;
    for (const auto& [other, list] : unused_) listed_before += list.size();
    if (listed_before + unused.size() > most_listed) unused_.clear();
    return unused_[*cell] = std::move(unused);
  }

  [[nodiscard]] Json picked(TrialId id, const Json& fixed, const UnusedList& unused) const {
    Random random(options_.seed, "unused", id.value());
    const Enumeration all(space_, Enumeration::Axes::all, fixed);
    return listed(all, unused[random.below(unused.size())].index, fixed);
  }

  [[nodiscard]] Json listed(const Enumeration& all, std::uint64_t index, const Json& fixed) const {
    Json config = fixed;
    all.put(index, config);
    return builder_.assemble(config, Json::object());
  }

  void remember(const Json& drawn, std::uint64_t cell) {
    if (!avoids_duplicates_ || builder_.has_chance(drawn)) return;
    const ConfigurationKey key = configuration_key(drawn);
    seen_.insert(key);
    if (const auto list = unused_.find(cell); list != unused_.end()) {
      std::erase_if(list->second, [key](const Unused& unused) { return unused.key == key; });
    }
  }

  SearchSpace space_;
  SuggestionOptions options_;
  std::unique_ptr<Searcher> searcher_;
  ConfigurationBuilder builder_;
  TurnPlan plan_;
  bool avoids_duplicates_;  // asked for, and there is more to choose than the grid
  std::vector<Point> points_;

  std::size_t next_point_ = 0;
  std::uint64_t next_turn_ = 0;
  std::set<std::uint64_t> used_up_;  // cells
  SeenConfigurations seen_;
  std::string note_;  // to go with the next configuration
  // Made anew when needed, so not part of the state.
  std::map<std::uint64_t, UnusedList> unused_;  // by cell
  UnusedList unused_of_point_;
};

SuggestionSource::SuggestionSource(SearchSpace space, SuggestionOptions options,
                                   std::unique_ptr<Searcher>&& searcher)
    : implementation_(
          std::make_unique<Implementation>(std::move(space), std::move(options), searcher)) {}

SuggestionSource::~SuggestionSource() = default;

std::optional<std::uint64_t> SuggestionSource::total() const { return implementation_->total(); }

Suggestion SuggestionSource::suggest(TrialId id, std::string* note) {
  Suggestion suggestion = implementation_->suggest(id);
  if (note != nullptr && std::holds_alternative<Config>(suggestion)) {
    *note = implementation_->take_note();
  }
  return suggestion;
}

Suggestion SuggestionSource::ask_again(TrialId id) { return implementation_->ask_again(id); }

void SuggestionSource::take_suggestion(TrialId id, const Config& config) {
  implementation_->take_suggestion(id, config);
}

void SuggestionSource::on_trial_result(TrialId id, const Config& config, const Result& result) {
  Searcher& searcher = implementation_->searcher();
  if (searcher.wants_results()) searcher.on_trial_result(id, config, result);
}

void SuggestionSource::on_trial_completed(TrialId id, const Config& config, const Result& last) {
  implementation_->searcher().on_trial_completed(id, config, last);
}

void SuggestionSource::on_trial_failed(TrialId id, const Config& config, bool infeasible) {
  implementation_->searcher().on_trial_failed(id, config, infeasible);
}

const Searcher& SuggestionSource::searcher() const { return implementation_->searcher(); }

Json SuggestionSource::save() const { return implementation_->save(); }

void SuggestionSource::restore(const Json& state) { implementation_->restore(state); }

}  // namespace tune::engine
