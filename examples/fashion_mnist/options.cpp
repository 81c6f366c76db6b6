#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <stdexcept>

#include <boost/program_options.hpp>

#include <tune/trainables/mlp.hpp>

namespace po = boost::program_options;

namespace {

constexpr const char* introduction =
    "Searches a small neural network for Fashion-MNIST: random search under ASHA, or another "
    "searcher and scheduler.\n\n"
    "usage: fashion_mnist [options]";

[[noreturn]] void refuse(const std::string& option, const std::string& text,
                         const std::string& allowed) {
  throw std::invalid_argument("--" + option + " is " + text + ", allowed is " + allowed);
}

template <class Names>
std::string joined(const Names& names) {
  std::string all;
  for (const char* name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

template <class Names>
std::string one_of(const po::variables_map& values, const std::string& option, const Names& names) {
  const auto& text = values[option].as<std::string>();
  if (std::find(names.begin(), names.end(), text) == names.end()) {
    refuse(option, text, joined(names));
  }
  return text;
}

// Numbers are read here and not by Boost, which takes "-1" for a large unsigned number and does not
// say what is allowed.
template <class T>
T number(const po::variables_map& values, const std::string& option, T lowest,
         const std::string& allowed) {
  const auto& text = values[option].as<std::string>();
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stopped_at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped_at != end || !(value >= lowest)) {
    refuse(option, text, allowed);
  }
  return value;
}

}  // namespace

std::optional<Options> parse_options(int argc, const char* const* argv) {
  const std::string folder(tune::trainables::fashion_mnist_folder);
  constexpr unsigned line_length = 100;
  po::options_description description("options", line_length);
  const auto text = [](const char* fallback) {
    return po::value<std::string>()->default_value(fallback);
  };
  description.add_options()                                                                //
      ("samples", text("27"), "configurations to try")                                     //
      ("max-epochs", text("9"), "epochs that the best of them are trained for")            //
      ("searcher", text("random"), ("one of " + joined(searcher_names)).c_str())           //
      ("scheduler", text("asha"), ("one of " + joined(scheduler_names)).c_str())           //
      ("storage", text(""), "folder for the results (default: ~/tune_results)")            //
      ("name", text(""), "name of the experiment, a new folder there (default: made up)")  //
      ("seed", text("1"), "seed of all that is drawn")                                     //
      ("cpus", po::value<std::string>(), "trials to run at once (default: one a core)")    //
      ("data", text(folder.c_str()), "folder with the data set's files")                   //
      ("help", "print this and leave");
  po::variables_map values;
  try {
    // No guessing: a name that is cut short may be a mistake.
    const int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    const po::parsed_options parsed = po::parse_command_line(argc, argv, description, style);
    for (const auto& option : parsed.options) {
      if (option.string_key.empty()) {
        throw std::invalid_argument("unexpected argument " + option.value.at(0) +
                                    ", options begin with --");
      }
    }
    po::store(parsed, values);
  } catch (const po::error& error) {
    throw std::invalid_argument(error.what());
  }
  if (values.contains("help")) {
    std::cout << introduction << "\n\n" << description;
    return std::nullopt;
  }
  Options options;
  options.samples = number<std::int64_t>(values, "samples", 1, "a whole number from 1");
  options.max_epochs = number<std::int64_t>(values, "max-epochs", 1, "a whole number from 1");
  options.searcher = one_of(values, "searcher", searcher_names);
  options.scheduler = one_of(values, "scheduler", scheduler_names);
  options.storage = values["storage"].as<std::string>();
  options.name = values["name"].as<std::string>();
  options.seed = number<std::uint64_t>(values, "seed", 0, "a whole number from 0");
  if (values.contains("cpus")) {
    options.cpus =
        static_cast<double>(number<std::int64_t>(values, "cpus", 1, "a whole number from 1"));
  }
  options.data = values["data"].as<std::string>();
  return options;
}
