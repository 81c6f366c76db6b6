#include <tune/domain.hpp>

#include <cmath>
#include <cstddef>
#include <set>
#include <string_view>

#include <tune/search_space.hpp>

#include "core/number_text.hpp"
#include "core/quantised_steps.hpp"
#include "core/space_check.hpp"

namespace tune {
namespace {

using core::must_be_finite;
using core::number_text;
using core::value_fault;
using core::value_text;

constexpr std::string_view kind_name(Domain::Kind kind) {
  switch (kind) {
    using enum Domain::Kind;
    case uniform:
      return "uniform";
    case loguniform:
      return "loguniform";
    case quniform:
      return "quniform";
    case qloguniform:
      return "qloguniform";
    case normal:
      return "normal";
    case qnormal:
      return "qnormal";
    case randint:
      return "randint";
    case lograndint:
      return "lograndint";
    case qrandint:
      return "qrandint";
    case choice:
      return "choice";
    case ordinal:
      return "ordinal";
    case grid_search:
      return "grid_search";
    case branch:
      return "branch";
    case constant:
      return "constant";
    case sample_from:
      return "sample_from";
    case space:
      return "space";
  }
  return "";
}

bool has_bounds(Domain::Kind kind) { return kind <= Domain::Kind::qrandint; }

bool is_normal(Domain::Kind kind) {
  return kind == Domain::Kind::normal || kind == Domain::Kind::qnormal;
}

bool has_q(Domain::Kind kind) {
  return kind == Domain::Kind::quniform || kind == Domain::Kind::qloguniform ||
         kind == Domain::Kind::qnormal || kind == Domain::Kind::qrandint;
}

// Options as JSON, so that 1, 1.0 and "1" look different.
std::string option_text(const Json& option) {
  const bool is_finite = !option.is_number_float() || std::isfinite(option.get<double>());
  return is_finite ? core::cut_json(option, 100) : value_text(option);
}

std::string must_be_positive(std::string_view name, double value) {
  if (std::isfinite(value) && value > 0) return "";
  return std::string(name) + " is " + number_text(value) + ", must be finite and above 0";
}

std::string options_fault(const std::vector<Json>& options) {
  if (options.empty()) return "there are no options, must be at least one";
  std::set<std::vector<std::uint8_t>> seen;  // CBOR is typed: 1, 1.0 and "1" differ
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (std::string fault = value_fault(options[i]); !fault.empty()) {
      return "option " + std::to_string(i) + ": " + fault;
    }
    if (!seen.insert(Json::to_cbor(options[i])).second) {
      return "the option " + option_text(options[i]) + " occurs twice, each must be there once";
    }
  }
  return "";
}

std::string branches_fault(const std::vector<Domain::Branch>& branches) {
  std::vector<Json> keys;
  for (const Domain::Branch& branch : branches) {
    if (!branch.key.is_primitive() || branch.key.is_binary() || branch.key.is_discarded()) {
      return "the key " + option_text(branch.key) +
             " must be a scalar (null, a boolean, a number or text)";
    }
    keys.push_back(branch.key);
  }
  if (keys.empty()) return "there are no branches, must be at least one";
  return options_fault(keys);
}

std::string low_high_text(std::string_view low, std::string_view high) {
  return "low " + std::string(low) + " is above high " + std::string(high) +
         ", must be at most high";
}

}  // namespace

Domain make_numeric(Domain::Kind kind, double low, double high, double q) {
  Domain domain(kind);
  domain.low_ = low;
  domain.high_ = high;
  domain.q_ = q;
  return domain;
}

Domain make_integer(Domain::Kind kind, std::int64_t low, std::int64_t high, std::int64_t q) {
  Domain domain(kind);
  domain.low_ = static_cast<double>(low);
  domain.high_ = static_cast<double>(high);
  domain.q_ = static_cast<double>(q);
  domain.low_integer_ = low;
  domain.high_integer_ = high;
  domain.q_integer_ = q;
  return domain;
}

Domain make_options(Domain::Kind kind, std::vector<Json> options) {
  Domain domain(kind);
  domain.options_ = std::move(options);
  return domain;
}

Domain::Domain(double value) : Domain(Json(value)) {}

Domain::Domain(const char* value) : Domain(Json(value)) {}

Domain::Domain(std::string value) : Domain(Json(std::move(value))) {}

Domain::Domain(Json value) { options_.push_back(std::move(value)); }

Domain::Domain(SearchSpace space)
    : kind_(Kind::space), space_(std::make_shared<const SearchSpace>(std::move(space))) {}

Domain::Domain(std::initializer_list<SpaceEntry> entries)
    : Domain(SearchSpace::unchecked(entries)) {}

bool Domain::is_integer() const {
  return kind_ == Kind::randint || kind_ == Kind::lograndint || kind_ == Kind::qrandint;
}

bool Domain::is_log() const {
  return kind_ == Kind::loguniform || kind_ == Kind::qloguniform || kind_ == Kind::lograndint;
}

bool Domain::is_categorical() const {
  return kind_ == Kind::choice || kind_ == Kind::ordinal || kind_ == Kind::grid_search ||
         kind_ == Kind::branch;
}

std::string Domain::check() const {
  switch (kind_) {
    case Kind::choice:
    case Kind::ordinal:
    case Kind::grid_search:
      return options_fault(options_);
    case Kind::branch:
      return branches_fault(*branches_);
    case Kind::constant:
      return value_fault(options_.front());
    case Kind::sample_from:
      return function_ ? "" : "the function is empty";
    case Kind::space:
      return "";
    default:
      return is_integer() ? integer_fault() : numeric_fault();
  }
}

std::string Domain::numeric_fault() const {
  if (is_normal(kind_)) {
    if (std::string fault = must_be_finite("mean", low_); !fault.empty()) return fault;
    if (std::string fault = must_be_positive("sd", high_); !fault.empty()) return fault;
    return kind_ == Kind::qnormal ? must_be_positive("q", q_) : "";
  }
  for (const auto& [name, bound] : {std::pair{"low", low_}, std::pair{"high", high_}}) {
    const std::string fault =
        is_log() ? must_be_positive(name, bound) : must_be_finite(name, bound);
    if (!fault.empty()) return fault;
  }
  if (low_ > high_) return low_high_text(number_text(low_), number_text(high_));
  if (!has_q(kind_)) return "";
  if (std::string fault = must_be_positive("q", q_); !fault.empty()) return fault;
  const core::QuantisedSteps steps(low_, high_, q_);
  if (steps.are_too_many()) {
    return "q is " + number_text(q_) + ", must be at least 2^-53 of each bound's size";
  }
  if (steps.count() == 0) {
    return "there is no multiple of " + number_text(q_) + " between low " + number_text(low_) +
           " and high " + number_text(high_) + ", must be at least one";
  }
  return "";
}

std::string Domain::integer_fault() const {
  const std::string low = std::to_string(low_integer_);
  const std::string high = std::to_string(high_integer_);
  if (kind_ == Kind::lograndint && low_integer_ < 1)
    return "low is " + low + ", must be at least 1";
  if (kind_ != Kind::qrandint) {
    if (low_integer_ < high_integer_) return "";
    return "low " + low + " must be below high " + high + ", which is itself excluded";
  }
  if (q_integer_ < 1) return "q is " + std::to_string(q_integer_) + ", must be at least 1";
  if (low_integer_ > high_integer_) return low_high_text(low, high);
  if (core::first_multiple(low_integer_, q_integer_) >
      core::last_multiple(high_integer_, q_integer_)) {
    return "there is no multiple of " + std::to_string(q_integer_) + " between low " + low +
           " and high " + high + ", must be at least one";
  }
  return "";
}

std::string Domain::describe() const {
  std::string text(kind_name(kind_));
  if (kind_ == Kind::constant) return "constant(" + option_text(options_.front()) + ")";
  if (has_bounds(kind_)) {
    const auto number = [this](double approximate, std::int64_t exact) {
      return is_integer() ? std::to_string(exact) : number_text(approximate);
    };
    text += "(" + number(low_, low_integer_) + ", " + number(high_, high_integer_);
    if (has_q(kind_)) text += ", " + number(q_, q_integer_);
    return text + ")";
  }
  if (kind_ == Kind::sample_from || kind_ == Kind::space) return text;
  std::string list;
  const auto append = [&list](const Json& option) {
    constexpr std::size_t enough_bytes = 500;
    if (list.size() > enough_bytes) return;
    list += (list.empty() ? "" : ", ") + option_text(option);
    if (list.size() > enough_bytes) list += ", ...";
  };
  for (const Json& option : options_) append(option);
  if (kind_ == Kind::branch) {
    for (const Branch& branch : *branches_) append(branch.key);
  }
  return text + "(" + list + ")";
}

Json Domain::json() const {
  Json record = Json::object();
  record["kind"] = kind_name(kind_);
  if (is_normal(kind_)) {
    record["mean"] = low_;
    record["sd"] = high_;
  } else if (is_integer()) {
    record["low"] = low_integer_;
    record["high"] = high_integer_;
  } else if (has_bounds(kind_)) {
    record["low"] = low_;
    record["high"] = high_;
  } else if (kind_ == Kind::constant) {
    record["value"] = options_.front();
  } else if (!options_.empty()) {
    record["options"] = options_;
  } else if (kind_ == Kind::space) {
    record["parameters"] = space_->json();
  } else if (kind_ == Kind::branch) {
    Json& branches = record["branches"] = Json::array();
    for (const Branch& branch : *branches_) {
      Json entry = Json::object();
      entry["key"] = branch.key;
      entry["parameters"] = branch.space.json();
      branches.push_back(std::move(entry));
    }
  }
  if (has_q(kind_)) record["q"] = is_integer() ? Json(q_integer_) : Json(q_);
  return record;
}

Domain uniform(double low, double high) {
  return make_numeric(Domain::Kind::uniform, low, high, 0);
}

Domain loguniform(double low, double high) {
  return make_numeric(Domain::Kind::loguniform, low, high, 0);
}

Domain quniform(double low, double high, double q) {
  return make_numeric(Domain::Kind::quniform, low, high, q);
}

Domain qloguniform(double low, double high, double q) {
  return make_numeric(Domain::Kind::qloguniform, low, high, q);
}

Domain normal(double mean, double sd) { return make_numeric(Domain::Kind::normal, mean, sd, 0); }

Domain qnormal(double mean, double sd, double q) {
  return make_numeric(Domain::Kind::qnormal, mean, sd, q);
}

Domain randint(std::int64_t low, std::int64_t high) {
  return make_integer(Domain::Kind::randint, low, high, 1);
}

Domain lograndint(std::int64_t low, std::int64_t high) {
  return make_integer(Domain::Kind::lograndint, low, high, 1);
}

Domain qrandint(std::int64_t low, std::int64_t high, std::int64_t q) {
  return make_integer(Domain::Kind::qrandint, low, high, q);
}

Domain choice(std::initializer_list<Json> options) {
  return make_options(Domain::Kind::choice, options);
}

Domain choice(std::vector<Json> options) {
  return make_options(Domain::Kind::choice, std::move(options));
}

Domain ordinal(std::initializer_list<Json> options) {
  return make_options(Domain::Kind::ordinal, options);
}

Domain ordinal(std::vector<Json> options) {
  return make_options(Domain::Kind::ordinal, std::move(options));
}

Domain grid_search(std::initializer_list<Json> options) {
  return make_options(Domain::Kind::grid_search, options);
}

Domain grid_search(std::vector<Json> options) {
  return make_options(Domain::Kind::grid_search, std::move(options));
}

Domain constant(Json value) { return Domain(std::move(value)); }

Domain branch(std::initializer_list<Domain::Branch> branches) {
  return branch(std::vector<Domain::Branch>(branches));
}

Domain branch(std::vector<Domain::Branch> branches) {
  Domain domain(Domain::Kind::branch);
  domain.branches_ = std::make_shared<const std::vector<Domain::Branch>>(std::move(branches));
  return domain;
}

Domain sample_from(Domain::SampleFunction function) {
  Domain domain(Domain::Kind::sample_from);
  domain.function_ = std::move(function);
  domain.is_random_function_ = true;
  return domain;
}

Domain sample_from(std::function<Json(const Config& so_far)> function) {
  Domain domain(Domain::Kind::sample_from);
  if (function) {
    domain.function_ = [function = std::move(function)](const Config& so_far, Random&) {
      return function(so_far);
    };
  }
  return domain;
}

}  // namespace tune
