#pragma once

#include <vector>

#include <tune/callback.hpp>

#include "report/exporter.hpp"
#include "report/restored_trial.hpp"

namespace tune::report {

/// Tells `exporters` of the starts and results of a trial once more, and of its end if it has
/// ended, so that they make its files anew; of one that has not, they are then as if it had run on.
///
/// An exporter that throws hears no more of it, the others do. Makes the trial's directory.
/// @throws the first error, at the end.
void replay_trial(const RestoredTrial& restored, const TrialInfo& trial,
                  std::vector<Exporter*> exporters);

}  // namespace tune::report
