#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <tune/result.hpp>

#include "fsck_findings.hpp"
#include "store/journal_reader.hpp"

namespace tune::runtime {

/// A result as an exported file has it: its values by name, as text. Equal results have equal rows.
struct ExportRow {
  std::int64_t training_iteration = 0;
  std::map<std::string, std::string> values;
  friend bool operator==(const ExportRow&, const ExportRow&) = default;
};

/// What was read of one file, or of one trial's event files.
struct ExportedRows {
  std::vector<ExportRow> rows;
  std::string damage;   ///< What makes it no such file; the rows before are there. Often empty.
  bool is_cut = false;  ///< Something follows the last row that is not whole.
  bool is_there = true;
  std::int64_t files = 0;
};

// The reader of each format, and a result as it must be found there.

[[nodiscard]] ExportedRows read_exported_json(const std::filesystem::path& trial);
[[nodiscard]] ExportRow json_export_row(const Result& result);
/// RFC 4180.
[[nodiscard]] ExportedRows read_exported_csv(const std::filesystem::path& trial);
[[nodiscard]] ExportRow csv_export_row(const Result& result);
/// All event files of the trial, one after the other; what a session start takes back is left out.
[[nodiscard]] ExportedRows read_exported_events(const std::filesystem::path& trial);
[[nodiscard]] ExportRow events_export_row(const Result& result);

/// Compares the exported files of all trials, and the policy files, with the journal.
void check_exports(const store::JournalReader& reader, FsckFindings& findings);

}  // namespace tune::runtime
