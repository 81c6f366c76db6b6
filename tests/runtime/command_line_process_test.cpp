#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/json.hpp>

#include "program_run.hpp"
#include "run_support.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {
namespace {

using Catch::Contains;
using Lines = std::vector<std::string>;

/// How the program ended and what it wrote.
struct Outcome {
  int exit_code = 0;
  Lines out;
  std::string error;
};

Outcome run_program(const Lines& arguments) {
  const TemporaryFolder folder;
  Lines command{COMMAND_LINE_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ProgramRun program(command, folder.path() / "errors");
  Outcome outcome;
  for (std::string line; !(line = program.read_line()).empty();) outcome.out.push_back(line);
  outcome.exit_code = program.wait();
  outcome.error = read_text(program.error_file());
  return outcome;
}

TEST_CASE("a program keeps the arguments that are not tune's", "[command_line]") {
  const Outcome plain = run_program({});
  CHECK(plain.exit_code == 0);
  CHECK(plain.out == Lines{"end"});

  const Outcome outcome = run_program({"--help", "--tune-seed", "3", "-v", "--out=a", "file",
                                       "--tune-fail-fast", "--tun", "--", "--tune-name=x"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out ==
        Lines{"--help", "-v", "--out=a", "file", "--tun", "--", "--tune-name=x", "end"});
  CHECK(outcome.error.empty());
}

TEST_CASE("help lists the options on stdout as the guide shows them", "[command_line]") {
  const TemporaryFolder folder;
  ProgramRun program({COMMAND_LINE_PROGRAM, "--run", "--tune-help"}, folder.path() / "errors");
  std::string help;
  // The page has two blank lines at most between its lines, and none at its end.
  for (int blank = 0; blank < 3;) {
    const std::string line = program.read_line();
    blank = line.empty() ? blank + 1 : 0;
    help += line + '\n';
  }
  help.erase(help.find_last_not_of('\n') + 1);
  CHECK(program.wait() == 0);
  CHECK(read_text(program.error_file()).empty());
  CHECK_THAT(help, Contains("--tune-num-samples N"));
  CHECK_THAT(read_text(COMMAND_LINE_GUIDE), Contains("```text\n" + help + "\n```"));
}

TEST_CASE("what the command line sets goes into the record of the experiment", "[command_line]") {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_program({"--tune-name=quick", "--tune-storage-path", folder.path().string(), "--run",
                   "--tune-num-samples=2", "--tune-seed=7", "--tune-max-failures", "-1",
                   "--tune-time-budget=600", "--tune-isolation=threads", "--tune-trial-cpus=0.5"});
  CHECK(outcome.out == Lines{"--run", "end", "2 trials of 2"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.error.empty());
  const Json record = Json::parse(read_text(folder.path() / "quick" / "experiment.json"));
  const Json& definition = record.at("definition");
  CHECK(definition.at("num_samples") == 2);
  CHECK(definition.at("seed") == 7);
  CHECK(definition.at("failure").at("max_failures") == -1);
  CHECK(definition.at("time_budget") == 600.0);
  CHECK(definition.at("isolation") == "threads");
  CHECK(definition.at("resources").at("cpu") == 0.5);
  CHECK_THAT(read_text(folder.path() / "quick" / "driver.log"),
             Contains("event=experiment_started") &&
                 Contains("command_line=\"--tune-name=quick ") &&
                 Contains("--tune-num-samples=2 --tune-seed=7 --tune-max-failures=-1"));
}

TEST_CASE("worker processes serve a program that has options of tune's", "[command_line]") {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_program({"--run", "--tune-storage-path", folder.path().string(), "--tune-num-samples=2"});
  CHECK(outcome.out == Lines{"--run", "end", "2 trials of 2"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.error.empty());
}

TEST_CASE("a name from the command line serves one experiment", "[command_line]") {
  const TemporaryFolder folder;
  const Lines options{"--tune-isolation=threads", "--tune-name=once",
                      "--tune-storage-path=" + folder.path().string()};
  const auto run = [&](Lines arguments) {
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_program(arguments);
  };
  SECTION("of two the second is refused") {
    const Outcome outcome = run({"--run", "--run-other"});
    CHECK(outcome.exit_code == 1);
    REQUIRE(outcome.out.size() == 5);
    CHECK(outcome.out[3] == "3 trials of 3");
    CHECK(outcome.out[4] ==
          "--tune-name=once names one experiment, and this program runs several: experiment "
          "\"set_by_the_program\" has it, and experiment \"another\" cannot have it, too");
  }
  SECTION("the same one may be run twice: the second time it is complete") {
    const Outcome outcome = run({"--run", "--run"});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.out == Lines{"--run", "--run", "end", "3 trials of 3", "3 trials of 3"});
  }
}

TEST_CASE("a program makes certificates, and more of the same CA", "[command_line]") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "made").string();
  const Outcome outcome = run_program({"--run", "--tune-make-certificates", path});
  if (outcome.error.find("no TLS") != std::string::npos) return;  // not in this build
  CHECK(outcome.exit_code == 1);                                  // --run is no name
  CHECK_THAT(outcome.error, Contains("the name of a certificate is \"--run\""));

  const Outcome made = run_program({"--tune-make-certificates", path});
  CHECK(made.exit_code == 0);
  CHECK(made.out == Lines{path + "/ca.pem", path + "/ca-key.pem", path + "/driver.pem",
                          path + "/driver-key.pem", path + "/node.pem", path + "/node-key.pem"});
  const Outcome more = run_program({"--tune-make-certificates=" + path, "node2"});
  CHECK(more.out == Lines{path + "/node2.pem", path + "/node2-key.pem"});
  const Outcome again = run_program({"--tune-make-certificates=" + path, "node2"});
  CHECK(again.exit_code == 1);
  CHECK_THAT(again.error, Contains("node2-key.pem: File exists"));
}

TEST_CASE("what is wrong with tune's options ends the program with exit code 2", "[command_line]") {
  const auto refusal = [](const Lines& arguments) {
    const Outcome outcome = run_program(arguments);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.error, Contains("\n--tune-help lists the options\n"));
    return outcome.error;
  };
  CHECK_THAT(refusal({"--tune-num-sample=2"}),
             Contains("tune: --tune-num-sample=2: there is no option --tune-num-sample; did you "
                      "mean --tune-num-samples?\n"));
  CHECK_THAT(refusal({"--run", "--tune-num-samples", "many"}),
             Contains("tune: --tune-num-samples is \"many\": want a whole number"));
  CHECK_THAT(refusal({"--tune-name"}), Contains("tune: --tune-name has no value"));
}

}  // namespace
}  // namespace tune::test
