#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <tune/ids.hpp>

namespace tune::store {

/// The current line of each trial's results, as the tables have it: `trials.last_result` is the
/// newest, and `all_results.previous` leads from each to the one before. So a result costs one row
/// at the end of a table and no index, and what a trial leaves behind when it goes back merely
/// drops out of the chain.
///
/// In memory is the end of each chain that grows; in the tables, `last_result` follows with
/// write().
class ResultChains {
 public:
  explicit ResultChains(SQLite::Database& database);

  /// Makes result `id` the trial's last one and returns the one before it: the newest of the chain
  /// with a smaller iteration. O(1), and O(results left behind) if it goes back.
  std::optional<std::int64_t> append(TrialId trial, std::int64_t id, std::int64_t iteration);
  /// The result of this iteration in the trial's chain. O(results since).
  [[nodiscard]] std::optional<std::int64_t> find(TrialId trial, std::int64_t iteration);
  /// Empties the trial's chain.
  void drop(TrialId trial);
  /// Writes each `last_result` that is not written yet.
  void write();
  /// Writes that of one trial, and forgets the trial until it is named again.
  void release(TrialId trial);

 private:
  struct End {
    std::optional<std::int64_t> id = {};  // empty: the chain is
    std::int64_t iteration = 0;
    bool is_changed = false;
  };

  End& end_of(TrialId trial);
  void mark_changed(TrialId trial, End& end);
  // Goes back to the newest result that is not beyond `iteration`.
  void go_back(End& end, std::int64_t iteration);

  SQLite::Statement load_;
  SQLite::Statement step_back_;
  SQLite::Statement write_;
  std::unordered_map<TrialId, End> ends_;
  std::vector<TrialId> changed_;
};

}  // namespace tune::store
