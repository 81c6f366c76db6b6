#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

namespace tune {

struct FsckOptions {
  bool reads_checkpoints = true;  ///< Reads all files of kept checkpoints; else they must be there.
  bool replays = true;            ///< Takes all events through the engine once more.
};

/// Something that is not as it should be.
struct FsckFinding {
  enum class Severity {
    note,   ///< What a killed or running experiment may leave; the next resume puts it right.
    fault,  ///< A promise is broken.
  };
  std::string what;
  std::filesystem::path where;  ///< The file or directory.
  Severity severity = Severity::fault;
};

/// What fsck() looked at, and what it found.
struct FsckReport {
  enum class State {
    ended,    ///< The last session ended by itself, interrupted or not.
    killed,   ///< It has no end, and nobody holds the directory's lock.
    running,  ///< A driver is at work in the directory.
  };
  State state = State::ended;
  std::vector<FsckFinding> findings;
  std::int64_t events = 0;
  std::int64_t trials = 0;
  std::int64_t results = 0;      ///< Of the current lines.
  std::int64_t checkpoints = 0;  ///< Kept ones.
  std::int64_t files = 0;        ///< Exported files that were compared with the journal.
  bool is_replayed = false;      ///< All events went through the engine once more.

  /// True if there is no fault; there may be notes.
  [[nodiscard]] bool is_sound() const;
  /// What was checked, then a line a finding.
  void print(std::ostream& out) const;
};

/// Checks the directory of an experiment that runs, has ended or was killed: all that
/// docs/journal.md and docs/results.md promise of it. Never writes there.
///
/// - The journal: SQLite's own check; events without a gap, their times never going back; sessions;
///   every result of a trial's line once and in order, from a start and an event on record; no
///   checkpoint recorded before a result that it covers; states and counts that fit the end; the
///   best trial.
/// - All events through a fresh engine, with the decisions on record: states, results and
///   checkpoints must come out as they stand. Left out, with a note, if scheduler or searcher are
///   not registered in this program.
/// - Kept checkpoints and the files of saved values against their manifests; no other checkpoint,
///   and nothing half written.
/// - result.json, progress.csv and event files, as far as the definition has their exporters: every
///   result once and in order, with its metrics (event files: with their tags). Those of an
///   experiment that was killed or runs may lack the newest results, never more.
/// - pbt_global.txt and the policy files of trials, which hold the exchanges that the journal has.
///
/// Findings, not exceptions, say what cannot be read. Takes time in proportion to the journal and
/// the sizes of files; memory of about 40 bytes a result, and one trial's files.
[[nodiscard]] FsckReport fsck(const std::filesystem::path& experiment,
                              const FsckOptions& options = {});

}  // namespace tune
