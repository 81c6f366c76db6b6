#include "runtime/command_line.hpp"

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/experiment_setup.hpp"
#include "support/environment_variable.hpp"
#include "support/temporary_folder.hpp"

namespace tune::runtime {
namespace {

using Catch::Contains;
using Words = std::vector<std::string>;

/// A command line, and what of it the program keeps.
struct Parsed {
  CommandLine line;
  Words rest;
};

Parsed parse(Words words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  Parsed parsed{parse_command_line(arguments), {}};
  for (const char* word : parsed.line.program_words) parsed.rest.emplace_back(word);
  parsed.line.program_words.clear();  // they end with `words`
  return parsed;
}

/// An experiment that is as the options make of the defaults.
Experiment experiment_of(const Words& words) {
  Experiment experiment;
  apply_overrides(parse(words).line.overrides, experiment);
  return experiment;
}

std::string command_line_refusal(const Words& words) {
  try {
    (void)parse(words);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_CASE("each option sets its field", "[command_line]") {
  CHECK(experiment_of({"--tune-name=quick look"}).name == "quick look");
  CHECK(experiment_of({"--tune-storage-path=~/a=b"}).storage_path == "~/a=b");
  CHECK(experiment_of({"--tune-num-samples=7"}).num_samples == 7);
  CHECK(experiment_of({"--tune-num-samples=-1"}).num_samples == -1);
  CHECK(experiment_of({"--tune-suggest-budget=0.5"}).suggest_budget ==
        std::chrono::milliseconds(500));
  CHECK(experiment_of({"--tune-time-budget=1.5"}).time_budget == std::chrono::milliseconds(1500));
  CHECK(experiment_of({"--tune-max-concurrent=3"}).max_concurrent == 3);
  CHECK(experiment_of({"--tune-max-failures=2"}).failure.max_failures == 2);
  CHECK(experiment_of({"--tune-fail-fast"}).failure.fail_fast);
  CHECK(experiment_of({"--tune-seed=18446744073709551615"}).seed == 18446744073709551615U);
  CHECK(experiment_of({"--tune-isolation=threads"}).isolation == Isolation::threads);
  CHECK(experiment_of({"--tune-isolation=processes"}).isolation == Isolation::processes);
  CHECK(experiment_of({"--tune-cpus=2.5"}).local.cpus == 2.5);
  CHECK(experiment_of({"--tune-memory=4GB"}).local.memory == 4'000'000'000U);
  CHECK(experiment_of({"--tune-trial-cpus=0.5"}).resources.cpu == 0.5);
  CHECK(experiment_of({"--tune-trial-gpus=2"}).resources.gpu == 2);
  CHECK(experiment_of({"--tune-verbosity=2"}).verbosity == 2);
  CHECK(experiment_of({"--tune-show-output"}).show_output);
}

TEST_CASE("GPUs are within those that CUDA may see", "[command_line]") {
  const test::EnvironmentVariable devices("CUDA_VISIBLE_DEVICES", "0,1");
  CHECK(experiment_of({"--tune-gpus=2"}).local.gpus == 2);
  CHECK_THAT(command_line_refusal({"--tune-gpus=3"}),
             Contains("--tune-gpus is \"3\": local.gpus is 3, but CUDA_VISIBLE_DEVICES lists 2"));
}

TEST_CASE("what is not given stays as the program has it", "[command_line]") {
  Experiment experiment;
  experiment.num_samples = 5;
  experiment.local = {.cpus = 2, .custom = {{"licence", 1}, {"probe", 4}}};
  apply_overrides(
      parse({"--tune-resource=licence=3", "--tune-resource", "camera=0.5"}).line.overrides,
      experiment);
  CHECK(experiment.num_samples == 5);
  CHECK(experiment.local.cpus == 2);
  CHECK(experiment.local.custom ==
        std::map<std::string, double>{{"camera", 0.5}, {"licence", 3}, {"probe", 4}});
}

TEST_CASE("sizes have units of 1000 and of 1024", "[command_line]") {
  const auto memory = [](const std::string& size) {
    return experiment_of({"--tune-memory=" + size}).local.memory;
  };
  CHECK(memory("4096") == 4096);
  CHECK(memory("12B") == 12);
  CHECK(memory("3kB") == 3000);
  CHECK(memory("2MB") == 2'000'000);
  CHECK(memory("1TB") == 1'000'000'000'000);
  CHECK(memory("3KiB") == 3072);
  CHECK(memory("2MiB") == 2'097'152);
  CHECK(memory("1.5GiB") == 1'610'612'736);
  CHECK(memory("1TiB") == 1'099'511'627'776);
  for (const char* size :
       {"4G", "4gb", "GB", "4 GB", "-1", "1e3", "1.2.3MB", "9e30TB", "99999999TB"}) {
    CHECK_THAT(command_line_refusal({std::string("--tune-memory=") + size}),
               Contains("--tune-memory is \"" + std::string(size) + "\": want bytes") &&
                   Contains("such as 4GB or 1.5GiB"));
  }
}

TEST_CASE("a value stands behind '=' or in the next word", "[command_line]") {
  const Parsed parsed =
      parse({"--tune-seed", "3", "--tune-max-failures", "-1", "--tune-fail-fast", "word"});
  CHECK(overrides_text(parsed.line.overrides) ==
        "--tune-seed=3 --tune-max-failures=-1 --tune-fail-fast");
  CHECK(parsed.rest == Words{"word"});
  CHECK(overrides_text({}).empty());
}

TEST_CASE("what is not tune's is left as it is", "[command_line]") {
  const Words users = {"--help", "-h",   "",      "-tune-name=x", "--tune", "--tuned",
                       "--a=",   "-abc", "--a=b", "x=--tune-y",   "-",      "--tune_name"};
  CHECK(parse(users).rest == users);
  CHECK(parse({}).rest.empty());
  const Parsed mixed = parse({"a", "--tune-seed=1", "b", "--tune-name", "n", "c"});
  CHECK(mixed.rest == Words{"a", "b", "c"});
}

TEST_CASE("what stands behind -- is never touched", "[command_line]") {
  const Parsed parsed = parse({"a", "--tune-seed=1", "--", "--tune-seed=2", "--tune-xyz", "--"});
  CHECK(overrides_text(parsed.line.overrides) == "--tune-seed=1");
  CHECK(parsed.rest == Words{"a", "--", "--tune-seed=2", "--tune-xyz", "--"});
  CHECK_THAT(command_line_refusal({"--tune-seed", "--", "3"}),
             Contains("--tune-seed has no value"));
}

TEST_CASE("an unknown option is refused, and the closest one suggested", "[command_line]") {
  CHECK(command_line_refusal({"--tune-nam=x"}) ==
        "--tune-nam=x: there is no option --tune-nam; did you mean --tune-name?");
  CHECK_THAT(command_line_refusal({"--tune-NAME=x"}), Contains("there is no option --tune-NAME"));
  CHECK_THAT(command_line_refusal({"--tune-num_samples", "3"}),
             Contains("did you mean --tune-num-samples?"));
  CHECK_THAT(command_line_refusal({"--tune-samples=3"}),
             Contains("did you mean --tune-num-samples?"));
  CHECK(command_line_refusal({"--tune-xyz"}) == "--tune-xyz: there is no option --tune-xyz");
  CHECK(command_line_refusal({"--tune-xyz="}) == "--tune-xyz=: there is no option --tune-xyz");
  CHECK_THAT(command_line_refusal({"--tune-"}), Contains("there is no option --tune-"));
  CHECK_THAT(command_line_refusal({"--tune-=3"}), Contains("there is no option --tune-"));
  CHECK_THAT(command_line_refusal({"--tune-worker", "x"}), Contains("there is no option"));
}

TEST_CASE("a missing, needless or second value is refused", "[command_line]") {
  for (const Words& words :
       {Words{"--tune-num-samples"}, Words{"--tune-num-samples="}, Words{"--tune-num-samples", ""},
        Words{"--tune-num-samples", "--help"}, Words{"--tune-num-samples", "--tune-seed=3"}}) {
    CHECK_THAT(command_line_refusal(words),
               Contains("--tune-num-samples has no value, want N: configurations to try"));
  }
  CHECK(command_line_refusal({"--tune-fail-fast=yes"}) ==
        "--tune-fail-fast takes no value, is \"yes\"");
  CHECK(command_line_refusal({"--tune-seed=1", "--tune-seed", "2"}) ==
        "--tune-seed=2: it is given twice, the other is --tune-seed=1");
  CHECK_THAT(command_line_refusal({"--tune-resource=a=1", "--tune-resource=a=2"}),
             Contains("--tune-resource=a=2: it is given twice, the other is --tune-resource=a=1"));
}

TEST_CASE("a value that its field may not have is refused as the field's", "[command_line]") {
  using Pair = std::pair<const char*, const char*>;
  for (const auto& [word, allowed] :
       {Pair{"--tune-num-samples=0", "at least 1, or -1 for no bound, is 0"},
        Pair{"--tune-num-samples=2.5", "want a whole number of 64 bits"},
        Pair{"--tune-num-samples= 3", "want a whole number"},
        Pair{"--tune-num-samples=3x", "want a whole number"},
        Pair{"--tune-num-samples=9223372036854775808", "want a whole number of 64 bits"},
        Pair{"--tune-suggest-budget=0", "suggest_budget must be above 0 s"},
        Pair{"--tune-time-budget=0", "time_budget must be above 0 s"},
        Pair{"--tune-time-budget=inf", "want a number"},
        Pair{"--tune-time-budget=1h", "want a number"},
        Pair{"--tune-max-concurrent=-1", "max_concurrent must be at least 0, is -1"},
        Pair{"--tune-max-failures=-2", "failure.max_failures must be at least -1, is -2"},
        Pair{"--tune-seed=-1", "want a whole number from 0"},
        Pair{"--tune-isolation=process", "want processes or threads"},
        Pair{"--tune-verbosity=3", "verbosity must be 0, 1 or 2, is 3"},
        Pair{"--tune-verbosity=4294967296", "want a whole number of 32 bits"},
        Pair{"--tune-name=a/b", "must be the name of one directory"},
        Pair{"--tune-name=-x", "not beginning with '-'"},
        Pair{"--tune-storage-path=s3://bucket", "allowed are a path and file://"},
        Pair{"--tune-cpus=0.0001", "want a multiple of 0.001"},
        Pair{"--tune-gpus=0.5", "want a whole number of devices"},
        Pair{"--tune-resource=licence", "want a name and a number, such as licence=2"},
        Pair{"--tune-resource==2", "want a name and a number"},
        Pair{"--tune-resource=licence=-2", "want a number from 0"},
        Pair{"--tune-resource=cpu=2", "custom resource cpu: set the field of that name"},
        Pair{"--tune-trial-cpus=-1", "want a number from 0"},
        Pair{"--tune-trial-gpus=1.5", "a fraction of one device or a whole number of them"}}) {
    const std::string text(word);
    const std::size_t equals = text.find('=');
    CHECK_THAT(command_line_refusal({text}), Catch::StartsWith(text.substr(0, equals) + " is \"" +
                                                               text.substr(equals + 1) + "\": ") &&
                                                 Contains(allowed));
  }
}

TEST_CASE("a program lets others join, or joins", "[command_line]") {
  const Experiment driver = experiment_of({"--tune-listen=127.0.0.1:7700", "--tune-no-local",
                                           "--tune-insecure", "--tune-node-timeout=3"});
  CHECK(driver.cluster.listen == "127.0.0.1:7700");
  CHECK(driver.cluster.insecure);
  CHECK(driver.local.cpus == 0);
  CHECK(driver.node_timeout == std::chrono::seconds(3));
  const CommandLine node = parse({"--tune-join", "far:7700", "--tune-stay", "--tune-cpus=2",
                                  "--tune-label=zone=a", "--tune-label=disk="})
                               .line;
  REQUIRE(node.join);
  CHECK(node.join->text() == "far:7700");
  CHECK(node.stays);
  Experiment given;
  apply_overrides(node.overrides, given);
  CHECK(given.local.labels == Labels{{"zone", "a"}, {"disk", ""}});
  CHECK_FALSE(parse({"--tune-cpus=2"}).line.join);

  CHECK(command_line_refusal({"--tune-join=far"}) ==
        "--tune-join is \"far\": want HOST:PORT, such as driver:7700 or [::1]:7700");
  CHECK_THAT(command_line_refusal({"--tune-join=far:0"}), Contains("want the port of a driver"));
  CHECK_THAT(command_line_refusal({"--tune-join=a:1", "--tune-join=b:1"}), Contains("given twice"));
  CHECK_THAT(command_line_refusal({"--tune-join=a:1", "--tune-listen=b:1"}),
             Contains("--tune-join=a:1 and --tune-listen=b:1 exclude each other"));
  CHECK_THAT(command_line_refusal({"--tune-stay"}), Contains("it is for --tune-join"));
  CHECK(parse({"--tune-join=a:1", "--tune-scratch=/tmp"}).line.scratch == "/tmp");
  CHECK_THAT(command_line_refusal({"--tune-scratch=/tmp"}), Contains("it is for --tune-join"));
  CHECK(command_line_refusal({"--tune-join=a:1", "--tune-scratch=/nowhere"}) ==
        "--tune-scratch is \"/nowhere\": there is no such directory");
  CHECK_THAT(
      command_line_refusal({"--tune-join=a:1", "--tune-scratch=/tmp", "--tune-scratch=/var"}),
      Contains("given twice"));
  CHECK_THAT(command_line_refusal({"--tune-listen=7700"}), Contains("want HOST:PORT"));
  CHECK_THAT(command_line_refusal({"--tune-label=zone"}), Contains("such as zone=a"));
  CHECK_THAT(command_line_refusal({"--tune-label=zone=a", "--tune-label=zone=b"}),
             Contains("given twice"));
  CHECK_THAT(command_line_refusal({"--tune-node-timeout=0"}),
             Contains("node_timeout must be at least 0.1 s, is 0 s"));
}

TEST_CASE("a trial's request that is a function is not overridden", "[command_line]") {
  Experiment experiment;
  experiment.resources.of = [](const Config&) { return Resources{}; };
  CHECK_THROWS_WITH(apply_overrides(parse({"--tune-trial-cpus=2"}).line.overrides, experiment),
                    Contains("--tune-trial-cpus is \"2\"") &&
                        Contains("resources are a function of the configuration"));
}

TEST_CASE("help goes before all else", "[command_line]") {
  CHECK(parse({"--tune-help"}).line.asks_for_help);
  CHECK(parse({"--tune-xyz", "--tune-help"}).line.asks_for_help);
  CHECK(parse({"--tune-name", "--tune-help"}).line.asks_for_help);
  CHECK_FALSE(parse({"--help", "--", "--tune-help"}).line.asks_for_help);
  for (const char* option : {"--tune-name NAME", "--tune-isolation processes|threads",
                             "--tune-fail-fast", "--tune-resource NAME=AMOUNT", "--tune-help"}) {
    CHECK_THAT(command_line_help(), Contains(option));
  }
}

TEST_CASE("a run takes the overrides, records them, and names them if it is refused",
          "[command_line]") {
  const test::TemporaryFolder folder;
  TrainableSpec trainable;
  trainable.name = "train";
  trainable.function = [](const Config&) {};
  Experiment experiment;
  experiment.storage_path = folder.path().string();
  experiment.isolation = Isolation::threads;
  const std::vector<Override> overrides =
      parse({"--tune-name=run", "--tune-num-samples=4", "--tune-cpus=2"}).line.overrides;
  SECTION("taken") {
    const ExperimentSetup setup = set_up(trainable, experiment, overrides);
    CHECK(setup.info.path == folder.path() / "run");
    CHECK(setup.info.definition.at("num_samples") == 4);
    CHECK(setup.info.overrides == "--tune-name=run --tune-num-samples=4 --tune-cpus=2");
    CHECK(setup.machine.capacity.amount("cpu") == 2000);
    CHECK(experiment.num_samples == 4);
  }
  SECTION("refused") {
    experiment.resources.cpu = 3;
    CHECK_THROWS_WITH(set_up(trainable, experiment, overrides),
                      Contains("requested 3 cpu, largest node 2 cpu") &&
                          Contains("(the command line sets --tune-name=run --tune-num-samples=4 "
                                   "--tune-cpus=2)"));
  }
}

}  // namespace
}  // namespace tune::runtime
