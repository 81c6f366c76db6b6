#include <tune/searchers/random.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tune {
namespace {

class RandomSearch final : public Searcher {
 public:
  void setup(const SearcherSetup& setup) override {
    seed_ = setup.seed;
    parameters_.clear();
    for (SearchSpace::Parameter& parameter : setup.space->parameters()) {
      const Domain::Kind kind = parameter.domain.kind();
      if (kind == Domain::Kind::constant || kind == Domain::Kind::sample_from) continue;
      parameters_.push_back({"search/" + parameter.path, std::move(parameter)});
    }
  }

  Suggestion suggest(const SuggestionRequest& request) override {
    Json config = request.fixed.json();
    for (const auto& [purpose, parameter] : parameters_) {
      if (!SearchSpace::is_active(parameter, config)) continue;
      if (find_path(config, parameter.names) != nullptr) continue;
      Random random(seed_, purpose, request.trial.value(), request.attempt);
      set_path(config, parameter.names, parameter.domain.sample(random));
    }
    return Config(std::move(config));
  }

  [[nodiscard]] bool wants_results() const override { return false; }
  [[nodiscard]] bool needs_metric() const override { return false; }

  // Without state: each draw is a function of its key.
  [[nodiscard]] Json save() const override { return Json::object(); }
  void restore(const Json&) override {}

  [[nodiscard]] Json options() const override { return {{"name", "random"}}; }

 private:
  struct Drawn {
    std::string purpose;  // of its draws, part of their key
    SearchSpace::Parameter parameter;
  };

  std::uint64_t seed_ = 0;
  std::vector<Drawn> parameters_;
};

}  // namespace

std::unique_ptr<Searcher> random_search() { return std::make_unique<RandomSearch>(); }

}  // namespace tune
