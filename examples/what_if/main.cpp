// Asks the recorded learning curves of an experiment what would have become of it otherwise:
//
//   ./what_if results/fashion --scheduler 'asha={"max_t": 27, "reduction_factor": 3}'
//   ./what_if results/fashion --scheduler 'asha={"max_t": 27}' --seed 1 --scheduler fifo --cpus 16
//
// Each --scheduler begins a row; --seed, --cpus and --nodes after it are of that row, and before
// any of a row with the recorded scheduler. More options: --power-law, --length N, --json, --csv.
//
// With --try it makes a small experiment first, and asks that.
//
// The exit code is 0, or 2 if the arguments are wrong or it cannot be done.
#include <chrono>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tune/schedulers/builtin.hpp>
#include <tune/tune.hpp>

namespace {

void train(const tune::Config& config) {
  double x = 0;
  for (int i = 0; i < 9; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // as if it were hard work
    x -= config["lr"].get<double>() * 2 * (x - 3);
    tune::track::report({{"loss", (x - 3) * (x - 3)}});
  }
}
TUNE_REGISTER_FUNCTION(train)

std::filesystem::path make_experiment() {
  return tune::tune_run(train, {.name = "parabola",
                                .storage_path = "results",
                                .space = {{"lr", tune::loguniform(1e-4, 0.5)}},
                                .metric = "loss",
                                .mode = tune::Mode::min,
                                .num_samples = 9,
                                .seed = 1,
                                .exporters = {}})
      .path();
}

struct Question {
  std::filesystem::path experiment = {};
  std::vector<tune::Alternative> alternatives = {};
  tune::WhatIfOptions options = {};
  std::string form = "table";
};

/// "asha" or "asha={...}".
tune::Alternative alternative_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const auto options = equals == std::string::npos ? tune::Json::object()
                                                   : tune::Json::parse(text.substr(equals + 1));
  return {.name = text, .scheduler = tune::make_scheduler(name, options)};
}

Question read(const std::vector<std::string>& arguments) {
  Question question;
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    const auto value = [&]() -> const std::string& {
      if (argument + 1 == arguments.end())
        throw std::invalid_argument(*argument + " needs a value");
      return *++argument;
    };
    const auto row = [&]() -> tune::Alternative& {
      if (question.alternatives.empty()) question.alternatives.push_back({.name = "as recorded"});
      return question.alternatives.back();
    };
    const auto cluster = [&]() -> tune::Cluster& {
      if (!row().cluster) row().cluster.emplace();
      return *row().cluster;
    };
    if (*argument == "--scheduler") {
      question.alternatives.push_back(alternative_of(value()));
    } else if (*argument == "--seed") {
      row().seed = std::stoull(value());
      row().name += ", seed " + *argument;
    } else if (*argument == "--cpus") {
      cluster().node.cpus = std::stod(value());
      row().name += ", cpus " + *argument;
    } else if (*argument == "--nodes") {
      cluster().nodes = std::stoll(value());
      row().name += ", nodes " + *argument;
    } else if (*argument == "--power-law") {
      question.options.extrapolation = tune::Extrapolation::power_law;
    } else if (*argument == "--length") {
      question.options.length = std::stoll(value());
    } else if (*argument == "--json" || *argument == "--csv") {
      question.form = argument->substr(2);
    } else if (argument->starts_with("--") || !question.experiment.empty()) {
      throw std::invalid_argument("what is " + *argument + "?");
    } else {
      question.experiment = *argument;
    }
  }
  if (question.experiment.empty()) {
    throw std::invalid_argument(
        "which experiment? what_if <directory> [--scheduler name=options]...");
  }
  return question;
}

Question example() {
  Question question;
  question.experiment = make_experiment();
  question.alternatives.push_back(
      {.name = "asha", .scheduler = tune::asha({.max_t = 9, .reduction_factor = 3})});
  question.alternatives.push_back({.name = "4_nodes", .cluster = tune::Cluster{.nodes = 4}});
  return question;
}

void answer(Question question) {
  const tune::WhatIf table =
      tune::what_if(question.experiment, std::move(question.alternatives), question.options);
  if (question.form == "json") {
    std::cout << table.json().dump(2) << '\n';
  } else if (question.form == "csv") {
    table.write_csv(std::cout);
  } else {
    table.print(std::cout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  try {
    tune::register_builtin_schedulers();  // so that they have names from here on
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    answer(arguments == std::vector<std::string>{"--try"} ? example() : read(arguments));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "what_if: " << error.what() << '\n';
    return 2;
  }
}
