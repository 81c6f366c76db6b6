#include "benchmarks/measurement.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <system_error>
#include <thread>
#include <utility>

namespace tune::bench {
namespace {

namespace fs = std::filesystem;

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(line.find_first_not_of(' ', colon + 1));
    }
  }
  return "unknown";
}

std::vector<double> all_of(const std::vector<Sample>& samples, double (*take)(const Sample&)) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(take(sample));
  return values;
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

std::string short_number(double value) {
  char text[32];
  const int digits = std::abs(value) >= 1000 ? 0 : std::abs(value) >= 10 ? 1 : 3;
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string parameters_text(const Json& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters.items()) {
    const std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
    text += (text.empty() ? "" : " ") + name + "=" + shown;
  }
  return text;
}

}  // namespace

Reporter::Reporter(Options options)
    : options_(std::move(options)),
      machine_({{"cpu", cpu_model()}, {"cores", std::thread::hardware_concurrency()}}) {
  if (options_.prints_json) return;
  std::cout << cpu_model() << ", " << std::thread::hardware_concurrency() << " cores, files in "
            << options_.directory.string() << ", median of " << options_.repetitions
            << " (least to most)\n\n";
}

bool Reporter::wants(const std::string& name) const {
  return name.find(options_.filter) != std::string::npos;
}

void Reporter::print(const Measurement& measurement) const {
  const auto values = all_of(measurement.samples, [](const Sample& s) { return s.value; });
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const bool has_limit = !measurement.limit_is.empty();
  double limit = 0;
  double ratio = 0;
  if (has_limit) {
    limit = median(all_of(measurement.samples, [](const Sample& s) { return s.limit; }));
    ratio = median(all_of(measurement.samples, [](const Sample& s) { return s.value / s.limit; }));
  }
  if (options_.prints_json) {
    Json line = {{"name", measurement.name},
                 {"parameters", measurement.parameters},
                 {"value", median(values)},
                 {"least", *least},
                 {"most", *most},
                 {"unit", measurement.unit},
                 {"samples", values.size()},
                 {"limit", has_limit ? Json(limit) : Json()},
                 {"limit_is", measurement.limit_is},
                 {"ratio", has_limit ? Json(ratio) : Json()},
                 {"machine", machine_}};
    std::cout << line.dump() << std::endl;
    return;
  }
  std::cout << measurement.name << "  " << parameters_text(measurement.parameters) << "\n    "
            << short_number(median(values)) << ' ' << measurement.unit << " ("
            << short_number(*least) << " to " << short_number(*most) << ')';
  if (has_limit) {
    std::cout << "; " << measurement.limit_is << ": " << short_number(limit) << ", ratio "
              << short_number(ratio);
  }
  std::cout << std::endl;
}

ScratchDirectory::ScratchDirectory(const Options& options) {
  static int made = 0;
  path_ = options.directory /
          ("journal_bench." + std::to_string(::getpid()) + "." + std::to_string(++made));
  fs::create_directories(path_);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

double seconds_of(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  return values.at(place);
}

}  // namespace tune::bench
