#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/json.hpp>
#include <tune/random.hpp>
#include <tune/search_space.hpp>

namespace tune::engine {

/// Makes whole configurations out of what is fixed and what a searcher answered.
class ConfigurationBuilder {
 public:
  /// `searcher` is its name, for messages.
  ConfigurationBuilder(const SearchSpace& space, std::uint64_t seed, std::string searcher);

  /// A point of the user as the domains themselves would have it, each value at its place.
  /// @pre the point passed SearchSpace::check_point()
  [[nodiscard]] Json normalised(const Json& point) const;
  /// True if an active parameter is left to the searcher.
  [[nodiscard]] bool leaves_choice(const Json& fixed) const;
  /// All active parameters but functions: constants, what is fixed, the answer for the rest.
  /// @throws std::runtime_error naming searcher, parameter and value if the answer lacks one, puts
  /// it outside its domain, or names one that the space does not have.
  [[nodiscard]] Json assemble(const Json& fixed, const Json& answer) const;
  /// What assemble() would give if each parameter that is left open were drawn from its domain.
  [[nodiscard]] Json drawn(const Json& fixed, Random& random) const;
  /// What assemble() gave for a configuration that complete() made. Values that the space has not
  /// are left out.
  [[nodiscard]] Json drawn_part(const Json& config) const;
  /// True if an active function draws by chance, so that equal drawn values are no repetition.
  [[nodiscard]] bool has_chance(const Json& drawn) const;
  /// Adds the values of functions, each computed from what stands before it in the space.
  /// @throws std::runtime_error naming the parameter if its function throws or gives what JSON
  /// cannot hold.
  [[nodiscard]] Config complete(const Json& drawn, const Json& fixed, TrialId trial) const;

 private:
  [[nodiscard]] Json chosen(const SearchSpace::Parameter& parameter, const Json& answer) const;
  [[nodiscard]] Json computed(const SearchSpace::Parameter& parameter, const Json& so_far,
                              TrialId trial) const;

  std::vector<SearchSpace::Parameter> parameters_;
  std::set<std::string> paths_;
  bool has_functions_ = false;
  std::uint64_t seed_;
  std::string searcher_;
};

}  // namespace tune::engine
