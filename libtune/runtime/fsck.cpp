#include <tune/fsck.hpp>

#include <algorithm>
#include <optional>
#include <ostream>

#include "fsck_exports.hpp"
#include "fsck_journal.hpp"
#include "store/directory_lock.hpp"

namespace tune {
namespace {

namespace fs = std::filesystem;
using runtime::FsckFindings;

const char* to_text(FsckReport::State state) {
  switch (state) {
    case FsckReport::State::ended:
      return "ended";
    case FsckReport::State::killed:
      return "was killed";
    default:
      return "runs";
  }
}

bool is_fault(const FsckFinding& finding) {
  return finding.severity == FsckFinding::Severity::fault;
}

// One that ended because the storage failed has left as much as one that was killed.
FsckReport::State find_state(const store::JournalReader& reader, const fs::path& directory) {
  const std::vector<store::SessionRow> sessions = reader.sessions();
  if (store::is_locked(directory)) return FsckReport::State::running;
  const bool has_ended =
      !sessions.empty() && sessions.back().end && sessions.back().end->error.empty();
  return has_ended ? FsckReport::State::ended : FsckReport::State::killed;
}

void check_file(const store::JournalReader& reader, FsckFindings& findings) {
  for (const std::string& fault : reader.check()) {
    findings.fault(findings.directory() / store::journal_file, fault);
  }
}

// What the journal says of itself, all of it as of one moment.
runtime::JournalFacts check_journal(const store::JournalReader& reader, const FsckOptions& options,
                                    FsckFindings& findings) {
  runtime::JournalFacts facts;
  reader.in_one_state([&] {
    check_file(reader, findings);
    facts = runtime::check_events(reader, findings);
    runtime::check_trials(reader, facts, findings);
    // A journal that contradicts itself is not worth it.
    if (options.replays && findings.report().is_sound()) {
      findings.guarded(findings.directory() / store::journal_file,
                       [&] { runtime::check_replay(reader, findings); });
    }
  });
  return facts;
}

}  // namespace

bool FsckReport::is_sound() const {
  return std::none_of(findings.begin(), findings.end(), is_fault);
}

void FsckReport::print(std::ostream& out) const {
  out << "the experiment " << to_text(state) << "; checked: " << events << " events"
      << (is_replayed ? " (and replayed)" : "") << ", " << trials << " trials, " << results
      << " results, " << checkpoints << " checkpoints, " << files << " exported files\n";
  for (const FsckFinding& finding : findings) {
    out << (is_fault(finding) ? "fault: " : "note: ") << finding.where.string() << ": "
        << finding.what << '\n';
  }
  const auto faults = std::count_if(findings.begin(), findings.end(), is_fault);
  out << (faults == 0 ? std::string("sound")
                      : std::to_string(faults) + (faults == 1 ? " fault" : " faults"))
      << '\n';
}

FsckReport fsck(const fs::path& experiment, const FsckOptions& options) {
  FsckReport report;
  const fs::path directory = fs::absolute(experiment).lexically_normal();
  FsckFindings findings(report, directory);
  findings.guarded(directory / store::journal_file, [&] {
    const store::JournalReader reader(directory);
    report.state = find_state(reader, directory);
    const runtime::JournalFacts facts = check_journal(reader, options, findings);
    runtime::check_checkpoints(reader, facts, options.reads_checkpoints, findings);
    runtime::check_exports(reader, findings);
  });
  return report;
}

}  // namespace tune
