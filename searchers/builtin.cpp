#include <tune/searchers/builtin.hpp>

#include <memory>

#include <tune/registry.hpp>
#include <tune/searchers/grid.hpp>
#include <tune/searchers/halton.hpp>
#include <tune/searchers/random.hpp>
#include <tune/searchers/sobol.hpp>

#include "core/option_reader.hpp"

namespace tune {
namespace {

std::unique_ptr<Searcher> make_random(const Json& options) {
  core::OptionReader("random", options).finish();
  return random_search();
}

std::unique_ptr<Searcher> make_grid(const Json& options) {
  core::OptionReader("grid", options).finish();
  return grid();
}

std::unique_ptr<Searcher> make_sobol(const Json& options) {
  core::OptionReader("sobol", options).finish();
  return sobol();
}

std::unique_ptr<Searcher> make_halton(const Json& options) {
  core::OptionReader("halton", options).finish();
  return halton();
}

}  // namespace

void register_builtin_searchers() {
  register_searcher("random", make_random, "draws each parameter from its domain");
  register_searcher("grid", make_grid, "tries every configuration there is");
  register_searcher("sobol", make_sobol, "fills the space evenly: a scrambled Sobol sequence");
  register_searcher("halton", make_halton, "fills the space evenly: a scrambled Halton sequence");
}

}  // namespace tune
