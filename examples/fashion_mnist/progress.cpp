#include "progress.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <vector>

namespace {

std::string four_digits(double accuracy) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(4) << accuracy;
  return text.str();
}

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

}  // namespace

std::ostream& Progress::line() {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  return out_ << std::setw(5) << static_cast<int>(elapsed.count()) << " s  " << std::setw(3)
              << ended_ << '/' << trials_ << "  ";
}

void Progress::on_experiment_start(const tune::ExperimentInfo&) {
  out_ << counted(trials_, "configuration") << ", at most " << counted(max_epochs_, "epoch")
       << (trials_ == 1 ? "" : " each") << '\n';
}

void Progress::on_trial_start(const tune::TrialInfo& trial) {
  line() << "trial " << trial.id << " starts: " << describe(trial.config) << '\n';
}

void Progress::on_trial_result(const tune::TrialInfo& trial, const tune::Result& result) {
  running_[trial.id] = {.epoch = result.training_iteration,
                        .accuracy = result.metrics.at("val_accuracy").as_double()};
}

void Progress::on_trial_completed(const tune::TrialInfo& trial, const tune::TrialEnd&) {
  ++ended_;
  const Last last = running_[trial.id];
  running_.erase(trial.id);
  best_ = std::max(best_.value_or(last.accuracy), last.accuracy);
  line() << "trial " << trial.id << " ends after epoch " << last.epoch << ": accuracy "
         << four_digits(last.accuracy) << ", best " << four_digits(*best_) << '\n';
}

void Progress::on_trial_failed(const tune::TrialInfo& trial, const tune::TrialEnd& end,
                               bool will_retry) {
  if (!will_retry) ++ended_;
  line() << "trial " << trial.id << (will_retry ? " starts again: " : " failed: ") << end.error
         << '\n';
}

void Progress::on_idle() { out_.flush(); }

std::string describe(const tune::Config& config) {
  std::ostringstream text;
  text << std::setprecision(3) << config["optimizer"].get<std::string>() << " lr "
       << config["lr"].get<double>();
  if (config.contains("momentum")) text << " momentum " << config["momentum"].get<double>();
  text << ", hidden ";
  if (config["hidden"].json().is_array()) {
    const auto sizes = config["hidden"].get<std::vector<int>>();
    for (std::size_t i = 0; i < sizes.size(); ++i) text << (i == 0 ? "" : "-") << sizes[i];
  } else {
    text << config["hidden"].get<int>();
  }
  text << ", batch " << config["batch_size"].get<int>() << ", dropout "
       << config["dropout"].get<double>();
  return text.str();
}
