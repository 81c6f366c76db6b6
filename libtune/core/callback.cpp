#include <tune/callback.hpp>

#include <typeinfo>

#include <tune/progress.hpp>
#include <tune/trainable.hpp>

namespace tune {

Callback::~Callback() = default;

std::string Callback::name() const { return detail::unqualified_name(typeid(*this)); }

void Callback::on_experiment_start(const ExperimentInfo&) {}

void Callback::on_trial_start(const TrialInfo&) {}

void Callback::on_trial_result(const TrialInfo&, const Result&) {}

void Callback::on_trial_checkpoint(const TrialInfo&, const Checkpoint&) {}

void Callback::on_trial_completed(const TrialInfo&, const TrialEnd&) {}

void Callback::on_trial_failed(const TrialInfo&, const TrialEnd&, bool) {}

void Callback::on_experiment_end(const ExperimentInfo&, const ExperimentEnd&) {}

void Callback::on_idle() {}

std::chrono::duration<double> ProgressReporter::interval() const { return std::chrono::seconds(1); }

}  // namespace tune
