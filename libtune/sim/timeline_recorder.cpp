#include "timeline_recorder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tune::sim {
namespace {

// Of a simulation that is over at once; it doubles some thirty times until hours fit.
constexpr double first_interval_s = 1e-6;

Timeline::Sample scaled(Timeline::Sample sample, double factor) {
  sample.utilisation *= factor;
  sample.running *= factor;
  sample.queue *= factor;
  sample.paused *= factor;
  return sample;
}

Timeline::Sample mean_of(const Timeline::Sample& first, const Timeline::Sample& second) {
  Timeline::Sample mean = first;
  mean.utilisation += second.utilisation;
  mean.running += second.running;
  mean.queue += second.queue;
  mean.paused += second.paused;
  return scaled(mean, 0.5);
}

}  // namespace

TimelineRecorder::TimelineRecorder(std::optional<Objective> objective)
    : objective_(std::move(objective)) {
  timeline_.interval_s = first_interval_s;
  if (objective_) timeline_.mode = objective_->mode;
}

void TimelineRecorder::change(double now_s, const State& state) {
  if (state == state_) return;
  advance(now_s);
  state_ = state;
}

void TimelineRecorder::see(double now_s, TrialId trial, const Result& result) {
  if (!objective_) return;
  const std::optional<double> value = result.number(objective_->metric);
  if (!value || !std::isfinite(*value)) return;
  auto& incumbents = timeline_.incumbents;
  if (!incumbents.empty() && !is_better(objective_->mode, *value, incumbents.back().value)) return;
  incumbents.push_back({now_s, trial, result.training_iteration, *value});
}

void TimelineRecorder::add(double seconds) {
  sums_.utilisation += seconds * state_.utilisation;
  sums_.running += seconds * state_.running;
  sums_.queue += seconds * state_.queue;
  sums_.paused += seconds * state_.paused;
}

// Makes the intervals twice as long. An even number of them is closed.
void TimelineRecorder::halve() {
  auto& samples = timeline_.samples;
  const std::size_t half = samples.size() / 2;
  for (std::size_t i = 0; i < half; ++i) samples[i] = mean_of(samples[2 * i], samples[2 * i + 1]);
  if (samples.size() % 2 == 1) {
    // The last one is open again.
    const Timeline::Sample open = scaled(samples.back(), timeline_.interval_s);
    sums_.utilisation += open.utilisation;
    sums_.running += open.running;
    sums_.queue += open.queue;
    sums_.paused += open.paused;
  }
  samples.resize(half);
  timeline_.interval_s *= 2;
}

void TimelineRecorder::advance(double now_s) {
  // The interval that holds `now_s` must have room beside those before.
  while (now_s >= timeline_.interval_s * static_cast<double>(max_samples - 1)) halve();
  for (;;) {
    const double begin = timeline_.interval_s * static_cast<double>(timeline_.samples.size());
    const double end = begin + timeline_.interval_s;
    if (now_s < end) break;
    add(end - summed_until_);
    summed_until_ = end;
    Timeline::Sample closed = scaled(sums_, 1 / timeline_.interval_s);
    closed.begin_s = begin;
    timeline_.samples.push_back(closed);
    sums_ = {};
  }
  add(now_s - summed_until_);
  summed_until_ = now_s;
}

Timeline TimelineRecorder::finish(double now_s) {
  advance(now_s);
  auto& samples = timeline_.samples;
  const double begin = timeline_.interval_s * static_cast<double>(samples.size());
  if (now_s > begin) samples.push_back(scaled(sums_, 1 / (now_s - begin)));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].begin_s = timeline_.interval_s * static_cast<double>(i);
  }
  timeline_.end_s = now_s;
  return std::move(timeline_);
}

}  // namespace tune::sim
