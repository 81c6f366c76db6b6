#include "fsck_exports.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "report/exploit_history.hpp"
#include "report/file_pool.hpp"
#include "runtime/past_experiment.hpp"

namespace tune::runtime {
namespace {

struct ExportKind {
  std::string_view exporter;
  std::string_view file;
  ExportedRows (*read)(const std::filesystem::path& trial);
  ExportRow (*row)(const Result& result);
};

constexpr std::array<ExportKind, 3> export_kinds = {{
    {"json", "result.json", &read_exported_json, &json_export_row},
    {"csv", "progress.csv", &read_exported_csv, &csv_export_row},
    {"tensorboard", "events.out.tfevents.*", &read_exported_events, &events_export_row},
}};

// A file may be written anew while it is read.
constexpr int tries_while_running = 5;

std::string difference_text(const ExportRow& found, const ExportRow& wanted) {
  const std::string where = "iteration " + std::to_string(wanted.training_iteration);
  if (found.training_iteration != wanted.training_iteration) {
    return "iteration " + std::to_string(found.training_iteration) + " where " + where + " must be";
  }
  for (const auto& [name, value] : wanted.values) {
    const auto it = found.values.find(name);
    if (it == found.values.end()) return where + " has no " + name;
    if (it->second != value) return where + " has " + name + " " + it->second + ", want " + value;
  }
  for (const auto& [name, value] : found.values) {
    if (!wanted.values.contains(name)) return where + " has " + name + ", which was not reported";
  }
  return {};
}

/// Compares the rows of a file with a line, one result after the other.
class LineComparison {
 public:
  LineComparison(const ExportKind& kind, const ExportedRows& found) : kind_(kind), found_(found) {}

  void take(const Result& result) {
    const std::size_t place = results_++;
    if (place >= found_.rows.size() || !difference_.empty()) return;
    const ExportRow wanted = kind_.row(result);
    if (!(found_.rows[place] == wanted)) difference_ = difference_text(found_.rows[place], wanted);
  }

  [[nodiscard]] std::string difference() const {
    if (!difference_.empty() || found_.rows.size() <= results_) return difference_;
    return "iteration " + std::to_string(found_.rows[results_].training_iteration) +
           " is there, and the journal ends before";
  }
  /// Rows that are missing at the end.
  [[nodiscard]] std::size_t missing() const {
    return results_ - std::min(results_, found_.rows.size());
  }

 private:
  const ExportKind& kind_;
  const ExportedRows& found_;
  std::size_t results_ = 0;
  std::string difference_;
};

/// Whether the rows are the trial's line as it stood at some moment: before it went back to a
/// checkpoint, say.
bool was_ever_so(const store::JournalReader& reader, TrialId id, const ExportKind& kind,
                 const ExportedRows& found) {
  std::size_t equal = 0;  // rows at the beginning that are as the line has them
  std::size_t length = 0;
  bool is_found = found.rows.empty();
  reader.for_each_taken_result(id, [&](const store::LineResult& line) {
    const auto place = static_cast<std::size_t>(line.result.training_iteration - 1);
    length = place + 1;
    equal = std::min(equal, place);
    if (equal == place && place < found.rows.size() && found.rows[place] == kind.row(line.result)) {
      equal = length;
    }
    is_found = is_found || (equal == length && length == found.rows.size());
  });
  return is_found;
}

/// Of one trial and one exporter.
class ExportCheck {
 public:
  ExportCheck(const store::JournalReader& reader, const store::TrialRow& trial,
              const ExportKind& kind, FsckFindings& findings)
      : reader_(reader),
        trial_(trial),
        kind_(kind),
        findings_(findings),
        where_(findings.directory() / trial.name / kind.file) {}

  void check() {
    const int tries = findings_.is_running() ? tries_while_running : 1;
    for (int i = 1; i <= tries; ++i) {
      if (look(i == tries)) return;
    }
  }

 private:
  /// True: there is nothing to find, or it is found. False: it may look better another time.
  bool look(bool is_last) {
    // First the file: what stands there is on record by then.
    const ExportedRows found = kind_.read(findings_.directory() / trial_.name);
    LineComparison comparison(kind_, found);
    reader_.for_each_result(trial_.id,
                            [&](const store::LineResult& line) { comparison.take(line.result); });
    const std::string difference = found.damage.empty() ? comparison.difference() : found.damage;
    if (!difference.empty() && (findings_.has_ended() || !found.damage.empty() ||
                                !was_ever_so(reader_, trial_.id, kind_, found))) {
      if (is_last) findings_.fault(where_, difference);
      return is_last;
    }
    findings_.report().files += found.files;
    if (!difference.empty()) {
      findings_.note(where_, "it has iterations that were reported again since");
    } else {
      tell_missing(found, comparison.missing());
    }
    return true;
  }

  void tell_missing(const ExportedRows& found, std::size_t missing) {
    // One whose trial has no result need not have been begun.
    if (!found.is_there && missing > 0) {
      findings_.left_over(where_, "it is missing");
    } else if (missing > 0) {
      findings_.left_over(where_, "it lacks the last " + std::to_string(missing) + " results");
    } else if (found.is_cut) {
      findings_.left_over(where_, "it is cut: its end is not whole");
    }
  }

  const store::JournalReader& reader_;
  const store::TrialRow& trial_;
  const ExportKind& kind_;
  FsckFindings& findings_;
  const std::filesystem::path where_;
};

bool is_exported(const Json& definition, std::string_view exporter) {
  for (const Json& name : definition.at("exporters")) {
    if (name.get<std::string>() == exporter) return true;
  }
  return false;
}

// They are made anew by each resume.
void check_policy_file(const std::filesystem::path& path, const std::string& wanted,
                       FsckFindings& findings) {
  findings.guarded(path, [&] {
    const bool is_there = std::filesystem::exists(path);
    if (is_there) ++findings.report().files;
    if ((is_there ? report::read_file(path) : std::string()) == wanted) return;
    findings.left_over(path, "it has other exchanges than the journal");
  });
}

void check_policy_files(const store::JournalReader& reader, FsckFindings& findings) {
  const report::ExploitHistory history = exploits_on_record(reader);
  check_policy_file(findings.directory() / report::global_policy_file, history.global_text(),
                    findings);
  for (const TrialId trial : reader.trial_ids()) {
    check_policy_file(findings.directory() / report::policy_file_name(trial),
                      history.policy_text(trial), findings);
  }
}

}  // namespace

void check_exports(const store::JournalReader& reader, FsckFindings& findings) {
  const Json definition = reader.experiment().definition;
  for (const ExportKind& kind : export_kinds) {
    if (!is_exported(definition, kind.exporter)) continue;
    for (const TrialId id : reader.trial_ids()) {
      const store::TrialRow trial = reader.trial(id).value();
      if (trial.incarnation == 0) continue;  // it has no files
      findings.guarded(findings.directory() / trial.name / kind.file,
                       [&] { ExportCheck(reader, trial, kind, findings).check(); });
    }
  }
  if (report::has_policy_files(definition)) check_policy_files(reader, findings);
}

}  // namespace tune::runtime
