#include <tune/timeline.hpp>

#include <algorithm>
#include <ostream>

#include "core/number_text.hpp"

namespace tune {

double Timeline::mean_utilisation() const {
  double sum = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double end = i + 1 == samples.size() ? end_s : samples[i + 1].begin_s;
    sum += samples[i].utilisation * (end - samples[i].begin_s);
  }
  return end_s > 0 ? sum / end_s : 0;
}

std::optional<double> Timeline::incumbent_at(double time_s) const {
  const auto after = std::upper_bound(
      incumbents.begin(), incumbents.end(), time_s,
      [](double time, const Incumbent& incumbent) { return time < incumbent.time_s; });
  if (after == incumbents.begin()) return std::nullopt;
  return std::prev(after)->value;
}

std::optional<double> Timeline::time_to(double value) const {
  const auto found = std::find_if(
      incumbents.begin(), incumbents.end(),
      [&](const Incumbent& incumbent) { return !is_better(mode, value, incumbent.value); });
  if (found == incumbents.end()) return std::nullopt;
  return found->time_s;
}

void Timeline::write_csv(std::ostream& out) const {
  using core::number_text;
  out << "time_s,utilisation,running,queue,paused,incumbent\r\n";
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    const double end = i + 1 == samples.size() ? end_s : samples[i + 1].begin_s;
    const std::optional<double> incumbent = incumbent_at(end);
    out << number_text(sample.begin_s) << ',' << number_text(sample.utilisation) << ','
        << number_text(sample.running) << ',' << number_text(sample.queue) << ','
        << number_text(sample.paused) << ',' << (incumbent ? number_text(*incumbent) : "")
        << "\r\n";
  }
}

}  // namespace tune
