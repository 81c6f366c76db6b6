#include "benchmarks/problem.hpp"

namespace tune::bench {

std::vector<Problem> heldout_problems() { return {}; }

std::vector<Problem> all_problems() {
  std::vector<Problem> problems = reference_problems();
  for (Problem& problem : heldout_problems()) problems.push_back(std::move(problem));
  return problems;
}

}  // namespace tune::bench
