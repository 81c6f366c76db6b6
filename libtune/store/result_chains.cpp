#include "result_chains.hpp"

#include <tune/error.hpp>

#include "journal_statement.hpp"

namespace tune::store {

ResultChains::ResultChains(SQLite::Database& database)
    : load_(database,
            "SELECT r.id, r.training_iteration FROM trials t "
            "LEFT JOIN all_results r ON r.id = t.last_result WHERE t.id = ?"),
      step_back_(database,
                 "SELECT p.id, p.training_iteration FROM all_results r "
                 "LEFT JOIN all_results p ON p.id = r.previous WHERE r.id = ?"),
      write_(database, "UPDATE trials SET last_result = ?2 WHERE id = ?1") {}

std::optional<std::int64_t> ResultChains::append(TrialId trial, std::int64_t id,
                                                 std::int64_t iteration) {
  End& end = end_of(trial);
  go_back(end, iteration - 1);
  const std::optional<std::int64_t> previous = end.id;
  end.id = id;
  end.iteration = iteration;
  mark_changed(trial, end);
  return previous;
}

std::optional<std::int64_t> ResultChains::find(TrialId trial, std::int64_t iteration) {
  End place = end_of(trial);
  go_back(place, iteration);
  if (place.iteration != iteration) return {};
  return place.id;
}

void ResultChains::drop(TrialId trial) {
  End& end = end_of(trial);
  end.id.reset();
  mark_changed(trial, end);
}

void ResultChains::write() {
  for (const TrialId trial : changed_) {
    const auto found = ends_.find(trial);
    if (found == ends_.end() || !found->second.is_changed) continue;  // released meanwhile
    run_statement(write_, trial, found->second.id);
    found->second.is_changed = false;
  }
  changed_.clear();
}

void ResultChains::release(TrialId trial) {
  const auto found = ends_.find(trial);
  if (found == ends_.end()) return;
  if (found->second.is_changed) run_statement(write_, trial, found->second.id);
  ends_.erase(found);
}

ResultChains::End& ResultChains::end_of(TrialId trial) {
  const auto [found, is_new] = ends_.try_emplace(trial);
  if (!is_new) return found->second;
  bind_values(load_, trial);
  const bool is_known = load_.executeStep();
  if (is_known && !is_null_at(load_, 0)) {
    found->second = {.id = integer_at(load_, 0), .iteration = integer_at(load_, 1)};
  }
  load_.reset();
  TUNE_ASSERT(is_known);
  return found->second;
}

void ResultChains::mark_changed(TrialId trial, End& end) {
  if (!end.is_changed) changed_.push_back(trial);
  end.is_changed = true;
}

void ResultChains::go_back(End& end, std::int64_t iteration) {
  while (end.id && end.iteration > iteration) {
    bind_values(step_back_, *end.id);
    if (step_back_.executeStep() && !is_null_at(step_back_, 0)) {
      end.id = integer_at(step_back_, 0);
      end.iteration = integer_at(step_back_, 1);
    } else {
      end.id.reset();
    }
    step_back_.reset();
  }
}

}  // namespace tune::store
