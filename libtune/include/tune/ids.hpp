#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>

namespace tune {

/// A number that identifies one thing of a kind; ordered, without arithmetic.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint64_t value) : value_(value) {}

  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
  friend std::ostream& operator<<(std::ostream& out, Id id) { return out << id.value_; }

 private:
  std::uint64_t value_ = 0;
};

/// The number of a trial within its experiment, from 0 in the order of suggestion.
using TrialId = Id<struct TrialIdTag>;
/// The number of a node (a machine's agent) within an experiment, in the order of joining.
using NodeId = Id<struct NodeIdTag>;

}  // namespace tune

template <class Tag>
struct std::hash<tune::Id<Tag>> {
  std::size_t operator()(tune::Id<Tag> id) const noexcept {
    return std::hash<std::uint64_t>()(id.value());
  }
};
