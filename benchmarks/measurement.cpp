#include "benchmarks/measurement.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>
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

std::vector<double> values_of(const Measurement& measurement) {
  std::vector<double> values;
  for (const Sample& sample : measurement.samples) values.push_back(sample.value);
  return values;
}

std::vector<double> limits_of(const Measurement& measurement) {
  std::vector<double> limits;
  for (const Sample& sample : measurement.samples) limits.push_back(sample.limit);
  return limits;
}

/// The ratio is the median of each sample's own, whose two sides were measured side by side.
double ratio_of(const Measurement& measurement) {
  std::vector<double> ratios;
  for (const Sample& sample : measurement.samples) ratios.push_back(sample.value / sample.limit);
  return quantile(ratios, 0.5);
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

Options read_options(int argc, char** argv, std::string_view usage,
                     const std::function<bool(std::string_view)>& take_own) {
  Options options;
  options.directory = fs::temp_directory_path();
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(std::string(word) + " has no value");
      return argv[++i];
    };
    if (word == "--quick") {
      options.is_quick = true;
      if (!options.says_repetitions) options.repetitions = 1;
    } else if (word == "--json") {
      options.prints_json = true;
    } else if (word == "--filter") {
      options.filter = value();
    } else if (word == "--repeat") {
      options.repetitions = std::max(1, std::stoi(value()));
      options.says_repetitions = true;
    } else if (word == "--directory") {
      options.directory = value();
    } else if (!take_own || !take_own(word)) {
      throw std::invalid_argument(std::string(word) + " is unknown\n" + std::string(usage) +
                                  std::string(common_usage));
    }
  }
  return options;
}

Measurement repeated(const Options& options, Measurement measurement,
                     const std::function<Sample()>& measure) {
  for (int i = 0; i < options.repetitions; ++i) measurement.samples.push_back(measure());
  return measurement;
}

std::vector<Measurement> repeated(const Options& options, std::vector<Measurement> measurements,
                                  const std::function<std::vector<Sample>()>& measure) {
  for (int i = 0; i < options.repetitions; ++i) {
    const std::vector<Sample> samples = measure();
    for (std::size_t k = 0; k < measurements.size(); ++k) {
      measurements[k].samples.push_back(samples.at(k));
    }
  }
  return measurements;
}

Reporter::Reporter(Options options)
    : options_(std::move(options)),
      machine_({{"cpu", cpu_model()}, {"cores", std::thread::hardware_concurrency()}}) {
  (options_.prints_json ? std::cerr : std::cout)
      << cpu_model() << ", " << std::thread::hardware_concurrency() << " cores, files in "
      << options_.directory.string() << ", median of " << options_.repetitions
      << " (least to most)\n\n";
}

bool Reporter::wants(const std::string& name) const {
  return name.find(options_.filter) != std::string::npos;
}

void Reporter::print(const Measurement& measurement) const {
  if (options_.prints_json) print_json(measurement);
  print_table(measurement);
}

void Reporter::print_json(const Measurement& measurement) const {
  const bool has_limit = !measurement.limit_is.empty();
  const std::vector<double> values = values_of(measurement);
  const std::vector<double> limits = limits_of(measurement);
  const Json line = {{"name", measurement.name},
                     {"parameters", measurement.parameters},
                     {"value", median(values)},
                     {"unit", measurement.unit},
                     {"limit", has_limit ? Json(median(limits)) : Json()},
                     {"limit_is", measurement.limit_is},
                     {"ratio", has_limit ? Json(ratio_of(measurement)) : Json()},
                     {"values", values},
                     {"limits", has_limit ? Json(limits) : Json::array()},
                     {"machine", machine_}};
  std::cout << line.dump() << std::endl;
}

void Reporter::print_table(const Measurement& measurement) const {
  std::ostream& out = options_.prints_json ? std::cerr : std::cout;
  const std::vector<double> values = values_of(measurement);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  out << measurement.name << "  " << parameters_text(measurement.parameters) << "\n    "
      << short_number(median(values)) << ' ' << measurement.unit << " (" << short_number(*least)
      << " to " << short_number(*most) << ')';
  if (!measurement.limit_is.empty()) {
    out << "; " << measurement.limit_is << ": " << short_number(median(limits_of(measurement)))
        << ", ratio " << short_number(ratio_of(measurement));
  }
  out << std::endl;
}

ScratchDirectory::ScratchDirectory(const Options& options) {
  static int made = 0;
  path_ = options.directory /
          ("tune_bench." + std::to_string(::getpid()) + "." + std::to_string(++made));
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
