#include <algorithm>
#include <ostream>
#include <string>

#include <tune/timeline.hpp>

#include "core/number_text.hpp"

namespace tune {
namespace {

constexpr double chart_left = 60;
constexpr double chart_width = 560;
constexpr double chart_height = 80;
constexpr double chart_distance = 112;
constexpr double first_top = 24;

/// One chart: time to the right, one value up.
class Chart {
 public:
  Chart(std::string label, double top, double end_s, double low, double high)
      : label_(std::move(label)), top_(top), end_s_(end_s), low_(low), high_(high) {}

  /// From here on the value is `value`.
  void step_to(double time_s, double value) {
    if (!path_.empty()) path_ += 'H' + x(time_s) + 'V' + y(value);
    if (path_.empty()) path_ = 'M' + x(time_s) + ' ' + y(value);
  }
  void write(std::ostream& out) {
    const std::string bottom = text(top_ + chart_height);
    out << "<path class=\"a\" d=\"M" << text(chart_left) << ' ' << text(top_) << 'V' << bottom
        << 'H' << text(chart_left + chart_width) << "\"/>";
    if (!path_.empty()) out << "<path class=\"l\" d=\"" << path_ << 'H' << x(end_s_) << "\"/>";
    out << "<text x=\"" << text(chart_left) << "\" y=\"" << text(top_ - 6) << "\">" << label_
        << "</text>" << tick(high_, top_ + 10) << tick(low_, top_ + chart_height) << '\n';
  }

 private:
  static std::string text(double value) { return core::number_text(value, 5); }
  [[nodiscard]] std::string x(double time_s) const {
    return text(chart_left + chart_width * (end_s_ > 0 ? time_s / end_s_ : 0));
  }
  [[nodiscard]] std::string y(double value) const {
    const double range = high_ > low_ ? high_ - low_ : 1;
    return text(top_ + chart_height * (1 - (value - low_) / range));
  }
  static std::string tick(double value, double at) {
    return "<text text-anchor=\"end\" x=\"" + text(chart_left - 6) + "\" y=\"" + text(at) + "\">" +
           core::number_text(value, 3) + "</text>";
  }

  std::string label_;
  double top_;
  double end_s_;
  double low_;
  double high_;
  std::string path_;
};

}  // namespace

void Timeline::write_svg(std::ostream& out) const {
  double most_waiting = 1;
  for (const Sample& sample : samples) most_waiting = std::max(most_waiting, sample.queue);
  Chart use("utilisation", first_top, end_s, 0, 1);
  Chart queue("queue", first_top + chart_distance, end_s, 0, most_waiting);
  for (const Sample& sample : samples) {
    use.step_to(sample.begin_s, sample.utilisation);
    queue.step_to(sample.begin_s, sample.queue);
  }
  double low = 0;
  double high = 0;
  if (!incumbents.empty()) {
    low = std::min(incumbents.front().value, incumbents.back().value);
    high = std::max(incumbents.front().value, incumbents.back().value);
  }
  Chart best("incumbent", first_top + 2 * chart_distance, end_s, low, high);
  for (const Incumbent& incumbent : incumbents) best.step_to(incumbent.time_s, incumbent.value);

  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 352\" width=\"640\" "
         "height=\"352\" font-family=\"sans-serif\" font-size=\"11\">\n<style>"
         ".a{fill:none;stroke:#808080}.l{fill:none;stroke:#3b82f6;stroke-width:1.5}"
         "text{fill:#808080}</style>\n";
  use.write(out);
  queue.write(out);
  best.write(out);
  out << "<text text-anchor=\"end\" x=\"620\" y=\"346\">" << core::number_text(end_s, 6)
      << " s</text>\n</svg>\n";
}

}  // namespace tune
