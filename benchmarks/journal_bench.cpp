// Measures the journal: alone, in an experiment, and when one is resumed.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <tune/tune.hpp>

#include "benchmarks/measurement.hpp"

namespace {

constexpr std::string_view usage =
    "journal_bench [--quick] [--json] [--filter TEXT] [--repeat N] [--directory PATH]\n"
    "  --quick      few results, two repetitions: that it runs\n"
    "  --json       a JSON object a line\n"
    "  --filter     only what has TEXT in its name: journal/results, journal/commit,\n"
    "               journal/sync, experiment/results, resume/first_result\n"
    "  --repeat     so often, 5 by default\n"
    "  --directory  where files go; by default where temporary files do\n";

tune::bench::Options parse(int argc, char** argv) {
  tune::bench::Options options;
  options.directory = std::filesystem::temp_directory_path();
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(std::string(word) + " has no value");
      return argv[++i];
    };
    if (word == "--quick") {
      options.is_quick = true;
      options.repetitions = 2;
    } else if (word == "--json") {
      options.prints_json = true;
    } else if (word == "--filter") {
      options.filter = value();
    } else if (word == "--repeat") {
      options.repetitions = std::max(1, std::stoi(value()));
    } else if (word == "--directory") {
      options.directory = value();
    } else {
      throw std::invalid_argument(std::string(word) + " is unknown\n" + std::string(usage));
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  try {
    const tune::bench::Reporter reporter(parse(argc, argv));
    tune::bench::measure_writes(reporter);
    tune::bench::measure_latencies(reporter);
    tune::bench::measure_experiments(reporter);
    tune::bench::measure_resume(reporter);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "journal_bench: " << error.what() << '\n';
    return 1;
  }
}
