// Measures the journal alone.
#include <exception>
#include <iostream>
#include <string_view>

#include <tune/tune.hpp>

#include "benchmarks/measurement.hpp"

namespace {

constexpr std::string_view usage =
    "journal_bench [--quick] [--json] [--filter TEXT] [--repeat N] [--directory PATH]\n"
    "  measures journal/results, journal/commit, journal/sync\n";

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  try {
    const tune::bench::Reporter reporter(tune::bench::read_options(argc, argv, usage));
    tune::bench::measure_writes(reporter);
    tune::bench::measure_latencies(reporter);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "journal_bench: " << error.what() << '\n';
    return 1;
  }
}
