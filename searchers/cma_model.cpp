#include "cma_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tune::searchers {
namespace {

constexpr std::size_t fewest_modelled = 60;
constexpr std::size_t most_modelled = 100;

struct Known {
  Eigen::VectorXd place;
  double squared_distance;
  const CmaMember* member;
};

std::vector<Known> nearest(const CmaParameters& parameters, const CmaDistribution& distribution,
                           const std::vector<CmaMember>& members) {
  const Point free(parameters.space().size(), std::nan(""));
  const auto numbers = static_cast<Eigen::Index>(distribution.size());
  std::vector<Known> known;
  for (const CmaMember& member : members) {
    Eigen::VectorXd place =
        model_place(parameters, distribution, parameters.point(member.place, member.options, free));
    const double squared_distance = place.head(numbers).squaredNorm();
    known.push_back({std::move(place), squared_distance, &member});
  }
  std::stable_sort(known.begin(), known.end(), [](const Known& a, const Known& b) {
    return a.squared_distance < b.squared_distance;
  });
  const std::size_t most = std::clamp(5 * parameters.size(), fewest_modelled, most_modelled);
  known.erase(known.begin() + static_cast<std::ptrdiff_t>(std::min(most, known.size())),
              known.end());
  return known;
}

}  // namespace

RankModel model_of(const CmaParameters& parameters, const CmaDistribution& distribution,
                   const std::vector<CmaMember>& members) {
  std::vector<Known> known = nearest(parameters, distribution, members);
  std::stable_sort(known.begin(), known.end(), [](const Known& a, const Known& b) {
    return a.member->standing < b.member->standing;
  });
  std::vector<Eigen::VectorXd> places;
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < known.size(); ++i) {
    places.push_back(std::move(known[i].place));
    const bool is_tied = i > 0 && known[i].member->standing == known[i - 1].member->standing;
    ranks.push_back(is_tied ? ranks.back() : i);
  }
  return RankModel(places, ranks);
}

Eigen::VectorXd model_place(const CmaParameters& parameters, const CmaDistribution& distribution,
                            const Point& point) {
  const Eigen::VectorXd normal =
      distribution.normal(parameters.place(parameters.snapped(point), distribution.mean()));
  return parameters.with_option_axes(normal, parameters.options(point));
}

}  // namespace tune::searchers
