#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/json.hpp>
#include <tune/registry.hpp>
#include <tune/track.hpp>

#include "run_support.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using OrderedJson = nlohmann::ordered_json;

/// The very same function as a trial and by itself.
void train_both_ways(const Config& config) {
  int done = 0;
  if (const auto from = track::checkpoint()) std::ifstream(*from / "state") >> done;
  const auto lr = config["lr"].get<double>();
  for (int i = done + 1; i <= 7 && !track::should_stop(); ++i) {
    track::log({{"eval", {{"acc", lr * i}}}});
    Metrics metrics{{"loss", i == 3 ? NAN : lr / i}, {"n", i}, {"even", i % 2 == 0}};
    if (i > 4) metrics.set("late", "text, \"quoted\"");
    track::report(metrics, [i](const fs::path& dir) { std::ofstream(dir / "state") << i; });
  }
}

TUNE_REGISTER_FUNCTION(train_both_ways, {.checkpoints = true})

const Config& both_config() {
  static const Config config(
      Json{{"lr", 0.5}, {"layers", {64, 32}}, {"optimizer", {{"name", "sgd"}}}});
  return config;
}
const CheckpointOptions both_checkpoint{.every = 2, .keep = 2};

void run_as_trial(const fs::path& storage) {
  Experiment experiment;
  experiment.isolation = tested_isolation();
  experiment.name = "run";
  experiment.storage_path = storage.string();
  for (const auto& [name, value] : both_config().json().items()) {
    experiment.space.add(name, constant(value));
  }
  experiment.checkpoint = both_checkpoint;
  experiment.seed = 1;
  experiment.local = {.cpus = 1};
  REQUIRE(tune_run(train_both_ways, experiment)[0].state == TrialState::terminated);
}

void run_by_itself(const fs::path& storage) {
  track::init({.name = "run",
               .storage_path = storage.string(),
               .config = both_config().json(),
               .checkpoint = both_checkpoint,
               .seed = 1});
  train_both_ways(track::config());
  track::finish();
}

/// Relative path to content, of all files; what differs in the names of event files is cut off.
std::map<std::string, std::string> read_tree(const fs::path& root) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    std::string name = entry.path().lexically_relative(root).string();
    if (const auto event_file = name.find("events.out.tfevents"); event_file != std::string::npos) {
      name.erase(event_file + std::string("events.out.tfevents").size());
    }
    files[name] = read_text(entry.path());
  }
  return files;
}

std::vector<OrderedJson> json_lines(const std::string& text) {
  std::vector<OrderedJson> rows;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) rows.push_back(OrderedJson::parse(line));
  return rows;
}

/// Names and types in their order: "loss number_float, ...".
std::string shape(const OrderedJson& value) {
  if (!value.is_object())
    return value.type_name() + std::string(value.is_number_float() ? "_float" : "");
  std::string text = "{";
  for (const auto& [name, member] : value.items()) text += name + ' ' + shape(member) + ", ";
  return text + '}';
}

/// A row without what the clock and chance say.
OrderedJson timeless(OrderedJson row) {
  for (const char* name : {"timestamp", "date", "time_this_iter_s", "time_total_s",
                           "time_since_restore", "experiment_id", "time"}) {
    row.erase(name);
  }
  return row;
}

/// Which cells of a table hold something, line by line.
std::vector<std::string> filled_cells(const std::string& csv) {
  std::vector<std::string> lines;
  std::istringstream in(std::regex_replace(csv, std::regex("\"([^\"]|\"\")*\""), "x"));
  for (std::string line; std::getline(in, line);) {
    lines.push_back(lines.empty() ? line : std::regex_replace(line, std::regex("[^,\r]+"), "x"));
  }
  return lines;
}

/// How often each tag and parameter is named in an event file.
std::map<std::string, int> names_in_events(const std::string& events) {
  std::map<std::string, int> names;
  const std::regex name("ray/tune/[A-Za-z_/]+|_hparams_/[a-z_]+|optimizer[./]name|layers|lr");
  for (auto it = std::sregex_iterator(events.begin(), events.end(), name);
       it != std::sregex_iterator(); ++it) {
    ++names[it->str()];
  }
  return names;
}

std::vector<std::string> logged_keys(const std::string& log) {
  std::vector<std::string> lines;
  std::istringstream in(log);
  const std::regex key("([a-z_]+)=(\"([^\"\\\\]|\\\\.)*\"|[^ ]*)");
  for (std::string line; std::getline(in, line);) {
    std::string keys;
    for (auto it = std::sregex_iterator(line.begin(), line.end(), key);
         it != std::sregex_iterator(); ++it) {
      keys += it->str(1) == "event" ? it->str() + ' ' : it->str(1) + ' ';
    }
    lines.push_back(keys);
  }
  return lines;
}

TEST_CASE("one function leaves the same files as a trial and by itself", "[track]") {
  const TemporaryFolder as_trial;
  const TemporaryFolder by_itself;
  run_as_trial(as_trial.path());
  run_by_itself(by_itself.path());
  auto expected = read_tree(as_trial.path() / "run");
  auto found = read_tree(by_itself.path() / "run");

  const std::string trial = "00000_layers=64-32_lr=0.5_optimizer.name=sgd/";
  std::set<std::string> expected_names;
  std::set<std::string> found_names;
  for (const auto& [name, content] : expected) expected_names.insert(name);
  for (const auto& [name, content] : found) found_names.insert(name);
  REQUIRE(found_names == expected_names);
  REQUIRE(found_names == std::set<std::string>{
                             "driver.log", "experiment.db", "experiment.json", "experiment.lock",
                             trial + "params.json", trial + "result.json", trial + "progress.csv",
                             trial + "events.out.tfevents", trial + "checkpoint_000004/state",
                             trial + "checkpoint_000006/state"});

  for (const char* same : {"params.json", "checkpoint_000004/state", "checkpoint_000006/state"}) {
    CHECK(found[trial + same] == expected[trial + same]);
  }

  const auto expected_rows = json_lines(expected[trial + "result.json"]);
  const auto found_rows = json_lines(found[trial + "result.json"]);
  REQUIRE(found_rows.size() == 7);
  REQUIRE(expected_rows.size() == 7);
  for (std::size_t i = 0; i < found_rows.size(); ++i) {
    CHECK(shape(found_rows[i]) == shape(expected_rows[i]));
    CHECK(timeless(found_rows[i]) == timeless(expected_rows[i]));
  }
  CHECK(filled_cells(found[trial + "progress.csv"]) ==
        filled_cells(expected[trial + "progress.csv"]));
  const auto tags = names_in_events(found[trial + "events.out.tfevents"]);
  CHECK(tags == names_in_events(expected[trial + "events.out.tfevents"]));
  CHECK(tags.at("ray/tune/loss") >= 7);

  CHECK(logged_keys(found["driver.log"]) == logged_keys(expected["driver.log"]));

  auto expected_experiment = OrderedJson::parse(expected["experiment.json"]);
  auto found_experiment = OrderedJson::parse(found["experiment.json"]);
  for (const auto& [name, value] : found_experiment["definition"].items()) {
    INFO(name);
    REQUIRE(expected_experiment["definition"].contains(name));
    CHECK(shape(value) == shape(expected_experiment["definition"][name]));
  }
  expected_experiment.erase("definition");
  found_experiment.erase("definition");
  CHECK(shape(found_experiment) == shape(expected_experiment));
}

std::string what_a_report_says() {
  try {
    track::report({{"x", 1}});
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_CASE("while an experiment runs threads without a trial cannot report", "[track]") {
  const TemporaryFolder folder;
  // A run outside it is open all the while, and stays as it is.
  track::init({.name = "outside", .storage_path = folder.path().string()});
  track::report({{"x", 0}});
  Experiment experiment = small_experiment(folder);
  experiment.exporters = {"json"};
  const ResultGrid results = tune_run(
      [](const Config&) {
        std::string said;
        std::thread([&] { said = what_a_report_says(); }).join();
        track::report({{"said", said}});
      },
      experiment);
  CHECK(results[0].state == TrialState::terminated);
  CHECK_THAT(
      std::get<std::string>(results[0].metrics.at("said").variant()),
      Contains("track::report: this thread belongs to no trial") && Contains("track::attach()"));
  track::report({{"x", 2}});
  track::finish();
  CHECK(iterations(ResultGrid::open(folder.path() / "outside")[0]) == counted_to(2));
  CHECK(iterations(ResultGrid::open(folder.path() / "run")[0]) == counted_to(1));
}

/// Reports although it is a class.
class ReportingClass final : public Trainable {
 public:
  Metrics step() override {
    const std::string said = what_a_report_says();
    return {{"said", said}, {"done", true}};
  }
};

TEST_CASE("a class that calls track gets an error that says so", "[track]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  const ResultGrid results = tune_run<ReportingClass>(experiment);
  CHECK_THAT(std::get<std::string>(results[0].metrics.at("said").variant()),
             Contains("this thread belongs to no trial"));
}

}  // namespace
}  // namespace tune::test
