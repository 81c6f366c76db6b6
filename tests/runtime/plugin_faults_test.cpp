#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>

#include "loaded_plugins.hpp"
#include "support/temporary_folder.hpp"

namespace tune {

class OfTheProgram : public TrialScheduler {
 public:
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    return Decision::proceed;
  }
};
TUNE_REGISTER_SCHEDULER("of_the_program", OfTheProgram)

namespace test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

/// The file's name and the reason, as each refusal has them.
std::string refusal(const std::string& name, const std::string& reason) {
  return "plugin " + fs::canonical(plugin_path(name)).string() + ": " + reason;
}

std::string file_with(const TemporaryFolder& folder, const std::string& text) {
  const fs::path path = folder.path() / "library.so";
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("a file that is no library is refused", "[plugin]") {
  const TemporaryFolder folder;
  const std::string missing = (folder.path() / "missing.so").string();
  CHECK(plugin_refusal(missing) == "plugin " + missing + ": there is no such file");
  CHECK_THAT(plugin_refusal(folder.path().string()), Contains("is no file"));
  const std::string text = file_with(folder, "#!/bin/sh\n");
  CHECK_THAT(plugin_refusal(text), Contains(text) && Contains("is no shared library"));
  CHECK_THAT(plugin_refusal(file_with(folder, "")), Contains("is no shared library"));
  CHECK_THAT(plugin_refusal("/proc/self/exe"), Contains("is no plugin of tune"));
}

TEST_CASE("a plugin's file that was cut off is refused, wherever it ends", "[plugin]") {
  const TemporaryFolder folder;
  const std::string whole = bytes_of(plugin_path("good"));
  for (std::size_t parts = 0; parts < 16; ++parts) {
    const std::string path = file_with(folder, whole.substr(0, whole.size() * parts / 16));
    CHECK_THAT(plugin_refusal(path),
               Contains("is no shared library") || Contains("is no plugin of tune"));
  }
}

TEST_CASE("what was built for another tune, compiler or library is refused before it runs",
          "[plugin]") {
  const TemporaryFolder folder;
  const fs::path mark = folder.path() / "mark";
  const EnvironmentVariable variable("TUNE_TEST_MARK", mark.string());
  CHECK(plugin_refusal(plugin_path("other_abi")) ==
        refusal("other_abi",
                "is for version 999 of the plugin ABI, and this tune has version 2: "
                "build it again with this tune"));
  CHECK_THAT(plugin_refusal(plugin_path("other_compiler")),
             Contains(R"(was built with another compiler: "turbo 3", and tune with ")"));
  CHECK_THAT(plugin_refusal(plugin_path("other_library")),
             Contains(R"(was built with another standard library: "libother 1")"));
  CHECK_THAT(plugin_refusal(plugin_path("other_json")),
             Contains(R"(another version of the JSON library: "nlohmann_json 9.9.9")"));
  CHECK_THAT(plugin_refusal(plugin_path("other_size")), Contains("stamp has 8 bytes"));
  CHECK_THAT(plugin_refusal(plugin_path("other_section")), Contains("holds something else"));
  CHECK(plugin_refusal(plugin_path("no_plugin")) ==
        refusal("no_plugin", "is no plugin of tune: TUNE_PLUGIN stands in none of its sources"));
  CHECK_THAT(
      plugin_refusal(plugin_path("unresolved")),
      Contains("cannot be loaded: undefined symbol") && Contains("a_function_that_nobody_has"));
  CHECK_FALSE(fs::exists(mark));
  // And the mark does tell.
  CHECK_THAT(plugin_refusal(plugin_path("no_function")),
             Contains("exports no function tune_plugin"));
  CHECK(fs::exists(mark));
}

TEST_CASE("a plugin that throws while it registers has registered nothing", "[plugin]") {
  const std::string reason = refusal("throws", "threw while it registered: no license");
  CHECK(plugin_refusal(plugin_path("throws")) == reason);
  CHECK(plugin_refusal(plugin_path("throws")) == reason);  // its code does not run again
  CHECK_THAT(plugin_refusal(plugin_path("throws_number")), Contains("what is no std::exception"));
  CHECK_THAT(plugin_refusal(plugin_path("loads_itself")), Contains("it asks for itself"));
  CHECK_FALSE(holds_name(scheduler_names(), "half_registered"));
  CHECK(loaded_plugins().empty());
}

TEST_CASE("a name that is taken is refused with who has it", "[plugin]") {
  load_plugin(plugin_path("good"));
  CHECK(plugin_refusal(plugin_path("taken_builtin")) ==
        refusal("taken_builtin",
                R"(scheduler "asha" is registered already, by the program or by tune itself)"));
  CHECK_THAT(plugin_refusal(plugin_path("taken_program")),
             Contains(R"(scheduler "of_the_program" is registered already, by the program)"));
  CHECK_THAT(plugin_refusal(plugin_path("taken_plugin")),
             Contains(R"(scheduler "patient" is registered already, by the plugin )") &&
                 Contains("good.so"));
  CHECK_THAT(plugin_refusal(plugin_path("same_name")),
             Contains(R"(a plugin of its name, "good", is loaded already: )"));
  CHECK_FALSE(holds_name(scheduler_names(), "of_same_name"));
  CHECK(loaded_plugins().size() == 1);
  // Nor may the program take a name later that a plugin has.
  CHECK_THROWS_WITH(
      register_scheduler("patient", detail::factory<TrialScheduler, OfTheProgram>("patient")),
      Contains(R"("patient" is registered already, by the plugin )"));
}

TEST_CASE("what a plugin's factory throws names the plugin", "[plugin]") {
  load_plugin(plugin_path("good"));
  CHECK_THROWS_AS(make_scheduler("patient", {{"max", 1}}), PluginError);
  CHECK_THROWS_WITH(make_scheduler("patient", {{"max", 1}}),
                    refusal("good", "patient: unknown option max"));
  CHECK_THROWS_WITH(make_scheduler("patient", {{"fault", 1}}),
                    refusal("good", R"(the factory of scheduler "patient" threw: cannot be made)"));
  CHECK_THROWS_WITH(
      make_scheduler("patient", {{"own_fault", 1}}),
      refusal("good", R"(the factory of scheduler "patient" threw what is no std::exception)"));
}

}  // namespace
}  // namespace test
}  // namespace tune
