#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tune/config.hpp>
#include <tune/json.hpp>
#include <tune/random.hpp>

namespace tune {

class SearchSpace;
struct SpaceEntry;

/// Quantiles of a domain, inside [0, 1]; one point where first == last.
struct UnitInterval {
  double first = 0;
  double last = 0;
  [[nodiscard]] double centre() const { return 0.5 * (first + last); }
};

/// The set of values of one parameter and how they are drawn.
///
/// A Domain does not know the parameter's name; SearchSpace checks it (check()) and names it in
/// the error.
class Domain {
 public:
  enum class Kind {
    uniform,      ///< double in [low, high)
    loguniform,   ///< double in [low, high), uniform in its logarithm
    quniform,     ///< multiples of q inside [low, high], equally likely
    qloguniform,  ///< multiples of q inside [low, high], weighted by the length of their logarithm
    normal,       ///< double, mean and standard deviation
    qnormal,      ///< normal, rounded to a multiple of q
    randint,      ///< integer in [low, high)
    lograndint,   ///< integer in [low, high), uniform in its logarithm
    qrandint,     ///< integers that are multiples of q inside [low, high], equally likely
    choice,       ///< one of the options, in no order
    ordinal,      ///< one of the options, in their order
    grid_search,  ///< each of the options, by enumeration
    branch,       ///< a key, and the parameters that belong to it
    constant,     ///< one value
    sample_from,  ///< a function of the configuration so far
    space,        ///< a nested SearchSpace
  };
  using SampleFunction = std::function<Json(const Config& so_far, Random& random)>;
  struct Branch;

  // Constants: {"epochs", 10}, {"name", "x"}. Templates, so that no pointer becomes a boolean and
  // no integer type is ambiguous.
  template <std::same_as<bool> T>
  Domain(T value) : options_(1, Json(value)) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Domain(T value) : options_(1, Json(value)) {}
  Domain(double value);
  Domain(const char* value);
  Domain(std::string value);
  Domain(Json value);
  // Nested spaces: {"optimizer", {{"lr", uniform(0, 1)}}}.
  Domain(SearchSpace space);
  Domain(std::initializer_list<SpaceEntry> entries);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] double low() const { return low_; }    ///< Mean for the normal kinds.
  [[nodiscard]] double high() const { return high_; }  ///< Standard deviation for the normal kinds.
  [[nodiscard]] double q() const { return q_; }
  /// Exact bounds of the integer kinds.
  [[nodiscard]] std::int64_t low_integer() const { return low_integer_; }
  [[nodiscard]] std::int64_t high_integer() const { return high_integer_; }
  [[nodiscard]] std::int64_t q_integer() const { return q_integer_; }
  /// Of choice, ordinal and grid_search; the one value of a constant.
  [[nodiscard]] const std::vector<Json>& options() const { return options_; }
  [[nodiscard]] const std::vector<Branch>& branches() const { return *branches_; }
  [[nodiscard]] const SearchSpace& space() const { return *space_; }
  [[nodiscard]] const SampleFunction& function() const { return function_; }
  [[nodiscard]] bool is_integer() const;
  [[nodiscard]] bool is_log() const;
  /// choice, ordinal, grid_search, or the key of a branch.
  [[nodiscard]] bool is_categorical() const;
  /// A sample_from whose function draws by chance: with all else equal it may give another value.
  [[nodiscard]] bool is_random_function() const { return is_random_function_; }

  /// What is wrong with it, without the parameter's name; empty if nothing.
  [[nodiscard]] std::string check() const;
  /// The value at quantile `u` in [0, 1): an exactly uniform `u` draws from the domain. For a
  /// branch, its key. Not for the kinds `space` and `sample_from`.
  [[nodiscard]] Json from_unit(double u) const;
  /// The quantiles that from_unit() maps to `value`, for what normalised() takes: a point where the
  /// domain is continuous, else the interval of its share. So numbers of every kind, logarithmic,
  /// quantised and normal ones too, are equally likely everywhere in [0, 1]. Empty if it does not
  /// lie inside. Not for the kinds `space` and `sample_from`.
  [[nodiscard]] std::optional<UnitInterval> to_unit(const Json& value) const;
  [[nodiscard]] Json sample(Random& random) const { return from_unit(random.uniform()); }
  /// How many values it has; empty if uncountable, unbounded or 2^64 and more (floats, qnormal,
  /// functions). 1 for a point; the keys of a branch.
  [[nodiscard]] std::optional<std::uint64_t> count() const;
  /// The `index`-th value of a countable domain in ascending (or given) order.
  [[nodiscard]] Json value_at(std::uint64_t index) const;
  /// The inverse of value_at(), for what normalised() takes; empty if not one of the values.
  [[nodiscard]] std::optional<std::uint64_t> index_of(const Json& value) const;
  /// True if `value` has the right type and lies inside.
  [[nodiscard]] bool contains(const Json& value) const;
  /// `value` as the domain itself would give it: an integer for a floating-point kind becomes a
  /// double, a multiple of q loses the noise of its last bits. Empty if it does not lie inside.
  [[nodiscard]] std::optional<Json> normalised(const Json& value) const;
  /// For messages: `loguniform(0.0001, 0.1)`. Of large options the beginning.
  [[nodiscard]] std::string describe() const;
  /// `{"kind": "loguniform", "low": 0.0001, "high": 0.1}`; a function by its kind alone.
  [[nodiscard]] Json json() const;

 private:
  friend Domain make_numeric(Kind kind, double low, double high, double q);
  friend Domain make_integer(Kind kind, std::int64_t low, std::int64_t high, std::int64_t q);
  friend Domain make_options(Kind kind, std::vector<Json> options);
  friend Domain branch(std::vector<Branch> branches);
  friend Domain sample_from(SampleFunction function);
  friend Domain sample_from(std::function<Json(const Config& so_far)> function);
  explicit Domain(Kind kind) : kind_(kind) {}
  [[nodiscard]] std::string numeric_fault() const;
  [[nodiscard]] std::string integer_fault() const;

  Kind kind_ = Kind::constant;
  double low_ = 0;
  double high_ = 0;
  double q_ = 0;
  std::int64_t low_integer_ = 0;
  std::int64_t high_integer_ = 0;
  std::int64_t q_integer_ = 1;
  std::vector<Json> options_;
  std::shared_ptr<const std::vector<Branch>> branches_;  // immutable, shared by copies
  std::shared_ptr<const SearchSpace> space_;             // immutable, shared by copies
  SampleFunction function_;
  bool is_random_function_ = false;
};

// Bounds as Ray Tune has them: [low, high). Equal bounds are one point for floats, refused for
// randint. Faults are reported when the domain enters a SearchSpace, with the parameter's name.
[[nodiscard]] Domain uniform(double low, double high);
[[nodiscard]] Domain loguniform(double low, double high);  ///< 0 < low <= high
[[nodiscard]] Domain quniform(double low, double high, double q);
[[nodiscard]] Domain qloguniform(double low, double high, double q);
[[nodiscard]] Domain normal(double mean, double sd);
[[nodiscard]] Domain qnormal(double mean, double sd, double q);
[[nodiscard]] Domain randint(std::int64_t low, std::int64_t high);
[[nodiscard]] Domain lograndint(std::int64_t low, std::int64_t high);  ///< 1 <= low < high
[[nodiscard]] Domain qrandint(std::int64_t low, std::int64_t high, std::int64_t q);
[[nodiscard]] Domain choice(std::initializer_list<Json> options);
[[nodiscard]] Domain choice(std::vector<Json> options);
[[nodiscard]] Domain ordinal(std::initializer_list<Json> options);
[[nodiscard]] Domain ordinal(std::vector<Json> options);
[[nodiscard]] Domain grid_search(std::initializer_list<Json> options);
[[nodiscard]] Domain grid_search(std::vector<Json> options);
[[nodiscard]] Domain constant(Json value);
/// `config[name]` is the key (any scalar); that branch's parameters stand beside it. A branch that
/// holds a grid axis is itself enumerated.
[[nodiscard]] Domain branch(std::initializer_list<Domain::Branch> branches);
[[nodiscard]] Domain branch(std::vector<Domain::Branch> branches);
/// A value computed from the parameters drawn before it, in the order of the space.
[[nodiscard]] Domain sample_from(Domain::SampleFunction function);
/// The same without chance: an equal configuration gives an equal value.
[[nodiscard]] Domain sample_from(std::function<Json(const Config& so_far)> function);

}  // namespace tune
