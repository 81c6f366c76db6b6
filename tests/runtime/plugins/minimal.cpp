// A plugin with one scheduler. SCHEDULER_NAME is registered while the library is initialised, as by
// the macro beside a class.
#include <stdexcept>

#include <tune/plugin.hpp>
#include <tune/scheduler.hpp>

#include "loaded_mark.hpp"

namespace {

class Minimal final : public tune::TrialScheduler {
 public:
  tune::Decision on_trial_result(tune::SchedulerContext&, const tune::Trial&,
                                 const tune::Result&) override {
    return tune::Decision::proceed;
  }
};
TUNE_REGISTER_SCHEDULER(SCHEDULER_NAME, Minimal)

}  // namespace

TUNE_PLUGIN(PLUGIN_NAME, "a plugin with one scheduler") {
#ifdef THROWN
  throw THROWN;
#endif
#ifdef LOADED
  tune::load_plugin(LOADED);
#endif
}
