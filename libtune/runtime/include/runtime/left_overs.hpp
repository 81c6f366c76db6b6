#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/journal_reader.hpp"

namespace tune::runtime {

enum class OfRunning { remove, keep };

/// Removes what was left behind when the experiment was killed: checkpoints that are half or not on
/// record, and directories of trials that are not on record.
///
/// A kill leaves no trial without a checkpoint that is on record and one that is newer: then the
/// journal is older than the files (a backup, or a log that was cut), and what is not on record may
/// be the work of days. So all of it is set aside, as left_over_<name>.
/// @param of_running what becomes of checkpoints of trials that are running on record: they may
/// still do so, on a node that outlived the driver, and tell of what they have stored
/// @return what to tell of it, a line each; faults are among them
[[nodiscard]] std::vector<std::string> clean_directories(const store::JournalReader& reader,
                                                         const std::filesystem::path& experiment,
                                                         OfRunning of_running = OfRunning::remove);

}  // namespace tune::runtime
