#include <tune/searchers/grid.hpp>

#include <memory>
#include <stdexcept>
#include <string>

namespace tune {
namespace {

class GridSearch final : public Searcher {
 public:
  void setup(const SearcherSetup& setup) override {
    for (const SearchSpace::Parameter& parameter : setup.space->parameters()) {
      const Domain& domain = parameter.domain;
      if (domain.kind() == Domain::Kind::sample_from || domain.count()) continue;
      throw std::invalid_argument(
          "searcher grid: parameter " + Json(parameter.path).dump() + " is " + domain.describe() +
          ", which has no end of values; grid takes domains that can be counted, such as choice, "
          "randint and quniform");
    }
  }

  // enumerates() leaves nothing to choose.
  Suggestion suggest(const SuggestionRequest& request) override { return request.fixed; }

  [[nodiscard]] bool enumerates() const override { return true; }
  [[nodiscard]] bool wants_results() const override { return false; }
  [[nodiscard]] bool needs_metric() const override { return false; }

  // Without state: whoever enumerates knows the place.
  [[nodiscard]] Json save() const override { return Json::object(); }
  void restore(const Json&) override {}

  [[nodiscard]] Json options() const override { return {{"name", "grid"}}; }
};

}  // namespace

std::unique_ptr<Searcher> grid() { return std::make_unique<GridSearch>(); }

}  // namespace tune
