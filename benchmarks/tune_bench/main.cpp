// How fast tune is, case by case, beside what bounds each, measured in the same run.
#include <cstdio>
#include <exception>
#include <iostream>
#include <string_view>

#include <tune/init.hpp>
#include <tune/schedulers/builtin.hpp>

#include "cases.hpp"
#include "started_program.hpp"

namespace {

using tune::bench::BenchCase;

constexpr std::string_view usage =
    "tune_bench [--list] [--quick] [--json] [--filter TEXT] [--repeat N] [--directory PATH]\n"
    "           [--published | --published-quick]\n"
    "  --list       the cases\n"
    "  --published  instead: the workloads of Ray Tune's scalability page, once by default, which\n"
    "               takes an hour and 36 GB of disk\n"
    "  --published-quick  the same, ten times shorter\n";

struct Asked {
  tune::bench::Options options;
  bool lists = false;
  double shorter = 0;  // of the published workloads; 0: without them
};

Asked parse(int argc, char** argv) {
  Asked asked;
  asked.options = tune::bench::read_options(argc, argv, usage, [&](std::string_view word) {
    asked.lists |= word == "--list";
    if (word == "--published") asked.shorter = 1;
    if (word == "--published-quick") asked.shorter = 10;
    return word == "--list" || word.starts_with("--published");
  });
  if (asked.shorter > 0 && !asked.options.says_repetitions) asked.options.repetitions = 1;
  return asked;
}

std::vector<BenchCase> joined(std::initializer_list<std::vector<BenchCase>> groups) {
  std::vector<BenchCase> cases;
  for (const auto& group : groups) cases.insert(cases.end(), group.begin(), group.end());
  return cases;
}

void list(const std::vector<BenchCase>& cases) {
  for (const BenchCase& one : cases) {
    std::printf("%-40s %s\n", one.name.c_str(), one.what.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  tune::register_builtin_schedulers();
  using namespace tune::bench;
  try {
    if (run_if_measured({argv + 1, argv + argc})) return 0;
    const Asked asked = parse(argc, argv);
    const std::vector<BenchCase> usual =
        joined({limit_cases(), engine_cases(), result_cases(), trial_cases(), short_trial_cases(),
                growth_cases(), program_cases(), resume_cases()});
    const double shorter = asked.shorter == 0 ? 1 : asked.shorter;
    const std::vector<BenchCase> published =
        joined({published_cases(shorter), checkpoint_cases(shorter)});
    if (asked.lists) {
      list(usual);
      list(published);
      return 0;
    }
    const Reporter reporter(asked.options);
    for (const BenchCase& one : asked.shorter == 0 ? usual : published) {
      if (!reporter.wants(one.name)) continue;
      for (const Measurement& measurement : one.measure(asked.options)) reporter.print(measurement);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "tune_bench: " << error.what() << '\n';
    return 1;
  }
}
