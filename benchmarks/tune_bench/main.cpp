// How fast tune is, case by case, beside what bounds each, measured in the same run.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cases.hpp"

namespace {

using tune::bench::BenchCase;

constexpr std::string_view usage =
    "tune_bench [--list] [--quick] [--json] [--filter TEXT] [--repeat N] [--directory PATH]\n"
    "           [--published | --published-quick]\n"
    "  --list             the cases\n"
    "  --quick            few of everything, one repetition: that it runs\n"
    "  --json             a JSON object a line\n"
    "  --filter           only cases with TEXT in their name\n"
    "  --repeat           so often, 5 by default\n"
    "  --directory        where files go; by default where temporary files do\n"
    "  --published        the workloads of Ray Tune's scalability page: 15 minutes\n"
    "  --published-quick  the same, ten times shorter\n";

struct Asked {
  tune::bench::Options options;
  bool lists = false;
  double shorter = 0;  // of the published workloads; 0: without them
};

Asked parse(int argc, char** argv) {
  Asked asked;
  asked.options.directory = std::filesystem::temp_directory_path();
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(std::string(word) + " has no value");
      return argv[++i];
    };
    if (word == "--list") {
      asked.lists = true;
    } else if (word == "--quick") {
      asked.options.is_quick = true;
      asked.options.repetitions = 1;
    } else if (word == "--json") {
      asked.options.prints_json = true;
    } else if (word == "--filter") {
      asked.options.filter = value();
    } else if (word == "--repeat") {
      asked.options.repetitions = std::max(1, std::stoi(value()));
    } else if (word == "--directory") {
      asked.options.directory = value();
    } else if (word == "--published") {
      asked.shorter = 1;
    } else if (word == "--published-quick") {
      asked.shorter = 10;
    } else {
      throw std::invalid_argument(std::string(word) + " is unknown\n" + std::string(usage));
    }
  }
  return asked;
}

std::vector<BenchCase> all_cases(double shorter) {
  std::vector<BenchCase> cases = tune::bench::limit_cases();
  for (auto& more : {tune::bench::experiment_cases(),
                     tune::bench::published_cases(shorter == 0 ? 10 : shorter)}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  try {
    if (tune::bench::run_if_measured(argc, argv)) return 0;
    const Asked asked = parse(argc, argv);
    const std::vector<BenchCase> cases = all_cases(asked.shorter);
    if (asked.lists) {
      for (const BenchCase& one : cases)
        std::printf("%-34s %s\n", one.name.c_str(), one.what.c_str());
      return 0;
    }
    const tune::bench::Reporter reporter(asked.options);
    for (const BenchCase& one : cases) {
      if (one.is_long && asked.shorter == 0) continue;
      if (!one.is_long && asked.shorter > 0) continue;
      if (reporter.wants(one.name)) reporter.print(one.measure(asked.options));
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "tune_bench: " << error.what() << '\n';
    return 1;
  }
}
