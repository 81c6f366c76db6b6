#pragma once

namespace tune {

/// What becomes of an experiment that is on record already: one of the same storage path and name.
enum class Resume {
  /// It goes on, if it has the same definition: see docs/resume.md. One that is complete runs
  /// nothing.
  automatic,
  never,            ///< It is refused.
  fresh,            ///< Its directory is moved aside, and the experiment begins anew.
  errored,          ///< As automatic; trials that failed go on from their last checkpoint.
  restart_errored,  ///< As automatic; trials that failed start anew from nothing.
};

}  // namespace tune
