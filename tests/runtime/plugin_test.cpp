#include <tune/plugin.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "loaded_plugins.hpp"
#include "runtime/command_line.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

const Registered* find_registered(const std::vector<Registered>& all, Registered::Kind kind,
                                  const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Registered& entry) {
    return entry.kind == kind && entry.name == name;
  });
  return found == all.end() ? nullptr : &*found;
}

TEST_CASE("a plugin is loaded once, by whatever path", "[plugin]") {
  const fs::path file = fs::canonical(plugin_path("good"));
  const Plugin plugin = load_plugin(file.string());
  CHECK(plugin.name == "good");
  CHECK(plugin.description == "something of each kind");
  CHECK(plugin.file == file);
  const TemporaryFolder folder;
  fs::create_symlink(file, folder.path() / "link.so");
  CHECK(load_plugin((folder.path() / "link.so").string()).file == file);
  CHECK(load_plugin(fs::relative(file).string()).file == file);
  CHECK(loaded_plugins().size() == 1);
  CHECK(make_scheduler("patient", {{"limit", 7}})->options().at("limit") == 7);
  CHECK(make_searcher("ladder")->options().at("name") == "ladder");
  CHECK(find_trainable("PluginModel").checkpoints);
  CHECK(find_trainable("plugin_function").function);
}

TEST_CASE("several threads may load a plugin at once", "[plugin]") {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      load_plugin(plugin_path("good"));
      (void)make_scheduler("patient");
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(loaded_plugins().size() == 1);
}

TEST_CASE("a plugin is found by its name in TUNE_PLUGIN_PATH", "[plugin]") {
  CHECK(plugin_refusal("found_by_name") ==
        "plugin found_by_name: there is no libfound_by_name.so or found_by_name.so in "
        "TUNE_PLUGIN_PATH, which is not set");
  const EnvironmentVariable path("TUNE_PLUGIN_PATH", std::string("/nowhere::") + PLUGIN_FOLDER);
  CHECK_THAT(plugin_refusal("nothing"), Contains("TUNE_PLUGIN_PATH, which is \"/nowhere::"));
  CHECK(load_plugin("good").name == "good");
  CHECK(load_plugin("found_by_name").file.filename() == "libfound_by_name.so");
}

TEST_CASE("a name that nobody has may be that of a plugin", "[plugin]") {
  CHECK_THROWS_WITH(make_scheduler("found_by_name"), !Contains("TUNE_PLUGIN_PATH"));
  const EnvironmentVariable path("TUNE_PLUGIN_PATH", PLUGIN_FOLDER);
  CHECK(make_scheduler("found_by_name"));
  CHECK(loaded_plugins().size() == 1);
  CHECK_THROWS_WITH(make_scheduler("astha"),
                    Contains(R"(no scheduler "astha" is registered; there are: )") &&
                        Contains("; TUNE_PLUGIN_PATH has no plugin of that name"));
  CHECK_THROWS_WITH(make_scheduler("has_other_names"),
                    Contains("has_other_names.so does not have it"));
  CHECK_THROWS_AS(make_searcher("other_abi"), PluginError);
  CHECK_THROWS_WITH(make_scheduler("../library/good"), Contains("no scheduler"));
}

TEST_CASE("tune's own names are there without a plugin and before a run", "[plugin]") {
  CHECK(make_scheduler("asha", {{"max_t", 9}})->options().at("max_t") == 9.0);
  CHECK(make_searcher("grid"));
}

TEST_CASE("the command line loads plugins, each once for each experiment", "[plugin]") {
  std::string good = "--tune-plugin=" + plugin_path("good");
  std::string other = "--tune-plugin=" + plugin_path("has_other_names");
  std::vector<char*> words = {good.data(), other.data()};
  const runtime::CommandLine line = runtime::parse_command_line(words);
  CHECK(loaded_plugins().size() == 2);
  CHECK(make_scheduler("other_name"));
  Experiment experiment;
  runtime::apply_overrides(line.overrides, experiment);
  runtime::apply_overrides(line.overrides, experiment);
  CHECK(experiment.plugins ==
        std::vector<std::string>{plugin_path("good"), plugin_path("has_other_names")});

  std::string bad = "--tune-plugin=" + plugin_path("other_abi");
  words = {bad.data()};
  CHECK_THROWS_WITH(runtime::parse_command_line(words),
                    Contains("--tune-plugin is \"") && Contains("version 999"));
  words = {good.data(), good.data()};
  CHECK_THROWS_WITH(runtime::parse_command_line(words), Contains("it is given twice"));
}

TEST_CASE("what is registered is listed with options and a line each", "[plugin]") {
  const std::vector<Registered> before = registered();
  const Registered* asha = find_registered(before, Registered::Kind::scheduler, "asha");
  REQUIRE(asha != nullptr);
  CHECK(asha->options.at("reduction_factor") == 4.0);
  CHECK_FALSE(asha->options.contains("name"));
  CHECK_THAT(asha->description, Contains("successive halving"));
  CHECK(asha->plugin.empty());
  CHECK(find_registered(before, Registered::Kind::searcher, "random") != nullptr);
  CHECK(find_registered(before, Registered::Kind::scheduler, "patient") == nullptr);

  const Plugin plugin = load_plugin(plugin_path("good"));
  const std::vector<Registered> after = registered();
  CHECK(after.size() == before.size() + 4);
  const Registered* patient = find_registered(after, Registered::Kind::scheduler, "patient");
  REQUIRE(patient != nullptr);
  CHECK(patient->options == Json{{"limit", 3}});
  CHECK(patient->description == "stops a trial after `limit` results");
  CHECK(patient->plugin == plugin.file.string());
  const Registered* model = find_registered(after, Registered::Kind::trainable, "PluginModel");
  REQUIRE(model != nullptr);
  CHECK(model->description == "reports its parameter over the step");
  CHECK(find_registered(after, Registered::Kind::trainable, "plugin_function")->description ==
        "reports four times");
}

}  // namespace
}  // namespace tune::test
