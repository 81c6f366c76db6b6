#include "benchmarks/options.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <system_error>

namespace tune::bench {
namespace {

[[noreturn]] void refuse(std::string_view option, std::string_view value,
                         std::string_view allowed) {
  throw std::invalid_argument(std::string(option) + ": \"" + std::string(value) +
                              "\", allowed is " + std::string(allowed));
}

template <class Integer>
Integer parse_integer(std::string_view option, std::string_view value, Integer least) {
  Integer number = 0;
  const char* end = value.data() + value.size();
  const auto [read, fault] = std::from_chars(value.data(), end, number);
  if (fault != std::errc{} || read != end || number < least) {
    refuse(option, value, "an integer of at least " + std::to_string(least));
  }
  return number;
}

SearcherChoice parse_searcher(std::string_view text) {
  const std::size_t equals = text.find('=');
  SearcherChoice choice{.name = std::string(text.substr(0, equals))};
  if (equals == std::string_view::npos) return choice;
  const std::string_view options = text.substr(equals + 1);
  choice.options = Json::parse(options, nullptr, false);
  if (!choice.options.is_object()) refuse("--searcher " + choice.name, options, "a JSON object");
  return choice;
}

std::vector<int> parse_slots(std::string_view text) {
  std::vector<int> slots;
  while (true) {
    const std::size_t comma = text.find(',');
    slots.push_back(parse_integer("--parallel", text.substr(0, comma), 2));
    if (comma == std::string_view::npos) return slots;
    text.remove_prefix(comma + 1);
  }
}

std::vector<Problem> choose_problems(std::string_view set, const std::set<std::string>& names) {
  if (set != "reference" && set != "heldout" && set != "all") {
    refuse("--set", set, "reference, heldout or all");
  }
  std::vector<Problem> chosen;
  std::string known;
  for (Problem& problem : all_problems()) {
    known += (known.empty() ? "" : ", ") + problem.name;
    if (names.contains(problem.name)) chosen.push_back(std::move(problem));
  }
  if (chosen.size() < names.size()) {
    for (const std::string& name : names) {
      const auto has_name = [&](const Problem& problem) { return problem.name == name; };
      if (std::none_of(chosen.begin(), chosen.end(), has_name)) refuse("--problem", name, known);
    }
  }
  if (!names.empty()) return chosen;
  if (set == "all") return all_problems();
  return set == "heldout" ? heldout_problems() : reference_problems();
}

std::string checked_column(std::string_view column) {
  for (const std::string_view known : {"random", "TPE", "CMA-ES", "GP", "best"}) {
    if (column == known) return std::string(column);
  }
  refuse("--against", column, "random, TPE, CMA-ES, GP or best");
}

// What has no value; false if it is no such option.
bool take_switch(BenchOptions& options, std::string_view option) {
  if (option == "--cost") {
    options.asks_cost = true;
  } else if (option == "--list") {
    options.asks_list = true;
  } else if (option == "--help") {
    options.asks_help = true;
  } else if (option == "--json") {
    options.prints_json = true;
  } else if (option == "--quick") {
    options.is_quick = true;
  } else {
    return false;
  }
  return true;
}

bool take_number(BenchOptions& options, std::string_view option, std::string_view value) {
  if (option == "--seeds") {
    options.seeds = parse_integer(option, value, 1);
  } else if (option == "--first-seed") {
    options.first_seed = parse_integer(option, value, std::uint64_t{0});
  } else if (option == "--evaluations") {
    options.evaluations = parse_integer(option, value, 1);
  } else if (option == "--jobs") {
    options.jobs = parse_integer(option, value, 1);
  } else if (option == "--values") {
    options.values = parse_integer(option, value, 1);
  } else {
    return false;
  }
  return true;
}

}  // namespace

BenchOptions parse_options(std::span<const std::string_view> arguments) {
  BenchOptions options;
  std::set<std::string> names;
  std::string_view set;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view option = arguments[i];
    if (take_switch(options, option)) continue;
    if (!option.starts_with("--")) refuse("argument", option, "what --help says");
    if (i + 1 == arguments.size()) {
      throw std::invalid_argument(std::string(option) +
                                  ": no such option, or its value is missing; see --help");
    }
    const std::string_view value = arguments[++i];
    if (take_number(options, option, value)) continue;
    if (option == "--searcher") {
      options.searchers.push_back(parse_searcher(value));
    } else if (option == "--problem") {
      names.emplace(value);
    } else if (option == "--set") {
      set = value;
    } else if (option == "--parallel") {
      options.slots = parse_slots(value);
    } else if (option == "--against") {
      options.against = checked_column(value);
    } else {
      throw std::invalid_argument(std::string(option) + ": no such option; see --help");
    }
  }
  if (options.searchers.empty()) options.searchers.push_back({.name = "random"});
  const std::string_view all_or_reference =
      options.values > 0 || options.is_quick ? "all" : "reference";
  options.problems = choose_problems(set.empty() ? all_or_reference : set, names);
  options.asks_quality = options.slots.empty() && !options.asks_cost;
  return options;
}

}  // namespace tune::bench
