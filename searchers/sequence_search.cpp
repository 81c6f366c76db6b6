#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tune/searchers/halton.hpp>
#include <tune/searchers/sobol.hpp>

#include "digital_sequences.hpp"
#include "searchers/encoded_space.hpp"

namespace tune {
namespace {

using searchers::DigitalSequence;
using searchers::EncodedSpace;
using searchers::Point;

using MakeSequence = std::function<std::unique_ptr<DigitalSequence>(std::vector<std::uint64_t>)>;

class SequenceSearch final : public Searcher {
 public:
  SequenceSearch(std::string name, MakeSequence make_sequence)
      : name_(std::move(name)), make_sequence_(std::move(make_sequence)) {}

  void setup(const SearcherSetup& setup) override {
    seed_ = setup.seed;
    space_ = EncodedSpace(*setup.space);
    std::vector<std::uint64_t> keys;
    for (const searchers::Dimension& dimension : space_.dimensions()) {
      keys.push_back(Random(seed_, name_ + "/" + dimension.path, keys.size()).next());
    }
    sequence_ = make_sequence_(std::move(keys));
    grid_ = grid_dimensions();
    added_.clear();
  }

  Suggestion suggest(const SuggestionRequest& request) override {
    const Point fixed = space_.encode(request.fixed.json());
    Point point = request.attempt == 0 ? point_at(index_of(request.trial, fixed), fixed)
                                       : drawn(request, fixed);
    return Config(space_.decode(point, request.fixed.json()));
  }

  void on_trial_added(TrialId, const Config& config) override {
    if (!grid_.empty()) ++added_[cell_of(space_.encode(config.json()))];
  }

  [[nodiscard]] bool wants_results() const override { return false; }
  [[nodiscard]] bool needs_metric() const override { return false; }

  [[nodiscard]] Json save() const override {
    Json added = Json::array();
    for (const auto& [cell, count] : added_) added.push_back({cell, count});
    return {{"added", std::move(added)}};
  }

  void restore(const Json& state) override {
    added_.clear();
    for (const Json& entry : state.at("added")) {
      added_[entry.at(0).get<Cell>()] = entry.at(1).get<std::uint64_t>();
    }
  }

  [[nodiscard]] Json options() const override { return {{"name", name_}}; }

 private:
  // The options of a grid cell; -1 for an axis that it does not have.
  using Cell = std::vector<std::int64_t>;

  // Grid axes, and the branches that hold them: they are enumerated. A cell has every n-th trial
  // only, and every n-th point of a sequence may be anything but evenly spread.
  [[nodiscard]] std::vector<std::size_t> grid_dimensions() const {
    std::set<std::size_t> grid;
    for (std::size_t d = 0; d < space_.size(); ++d) {
      const searchers::Dimension& dimension = space_.dimensions()[d];
      if (dimension.domain.kind() != Domain::Kind::grid_search) continue;
      grid.insert(d);
      for (const auto& [above, option] : dimension.conditions) grid.insert(above);
    }
    return {grid.begin(), grid.end()};
  }

  [[nodiscard]] Cell cell_of(const Point& point) const {
    Cell cell;
    for (const std::size_t d : grid_) {
      cell.push_back(point[d] >= 0 ? static_cast<std::int64_t>(point[d]) : -1);
    }
    return cell;
  }

  [[nodiscard]] std::uint64_t index_of(TrialId trial, const Point& fixed) const {
    if (grid_.empty()) return trial.value();
    const auto found = added_.find(cell_of(fixed));
    return found == added_.end() ? 0 : found->second;
  }

  [[nodiscard]] Point point_at(std::uint64_t index, const Point& fixed) const {
    Point point(space_.size(), std::nan(""));
    for (std::size_t d = 0; d < space_.size(); ++d) {
      if (!space_.is_active(d, point)) continue;
      point[d] = std::isnan(fixed[d]) ? place_of(d, sequence_->coordinate(index, d)) : fixed[d];
    }
    return point;
  }

  [[nodiscard]] double place_of(std::size_t d, double coordinate) const {
    const searchers::Dimension& dimension = space_.dimensions()[d];
    if (!dimension.is_categorical) return coordinate;
    return std::floor(coordinate * static_cast<double>(*dimension.count));
  }

  [[nodiscard]] Point drawn(const SuggestionRequest& request, const Point& fixed) const {
    Random random(seed_, name_, request.trial.value(), request.attempt);
    return space_.sample(fixed, random);
  }

  std::string name_;
  MakeSequence make_sequence_;
  std::uint64_t seed_ = 0;
  EncodedSpace space_;
  std::unique_ptr<DigitalSequence> sequence_;
  std::vector<std::size_t> grid_;
  std::map<Cell, std::uint64_t> added_;  // trials of each cell, under a grid
};

}  // namespace

std::unique_ptr<Searcher> sobol() {
  return std::make_unique<SequenceSearch>("sobol", [](std::vector<std::uint64_t> keys) {
    return std::make_unique<searchers::SobolSequence>(std::move(keys));
  });
}

std::unique_ptr<Searcher> halton() {
  return std::make_unique<SequenceSearch>("halton", [](std::vector<std::uint64_t> keys) {
    return std::make_unique<searchers::HaltonSequence>(std::move(keys));
  });
}

}  // namespace tune
