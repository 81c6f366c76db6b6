#pragma once

#include <cstdint>
#include <string>

#include <tune/callback.hpp>

namespace tune::report {

/// The last row that the files of a trial must have.
struct LastRow {
  std::int64_t training_iteration = 0;  ///< 0: there are no rows.
  std::string checkpoint = {};          ///< The name in it; empty: not known, or none.
};

/// A Callback that writes files into the directory of each trial, which must exist.
///
/// A file that cannot be written makes a call throw std::system_error that names the path.
class Exporter : public Callback {
 public:
  /// True if the files of a trial that was started and has ended are there and not cut. Looks at
  /// their ends only.
  [[nodiscard]] virtual bool is_whole(const TrialInfo& trial, const LastRow& last) const = 0;
  /// Removes the files of a trial that it knows nothing of. The calls that follow, as if the trial
  /// ran again, make them anew.
  virtual void begin_anew(const TrialInfo& trial) = 0;
};

}  // namespace tune::report
