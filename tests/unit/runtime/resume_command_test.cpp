#include "runtime/resume_command.hpp"

#include <catch2/catch.hpp>

namespace tune::runtime {
namespace {

using Words = std::vector<std::string>;

ExperimentInfo named(const std::string& name, bool is_made_up) {
  ExperimentInfo info;
  info.name = name;
  info.has_default_name = is_made_up;
  return info;
}

TEST_CASE("the command that goes on is the program's own", "[resume_command]") {
  const Words words{"./my search", "--data", "it's here", ""};
  CHECK(resume_command(words, named("mine", false), Resume::automatic) ==
        "'./my search' --data 'it'\\''s here' ''");
}

TEST_CASE("the command that goes on has a name that was made up", "[resume_command]") {
  CHECK(resume_command({"./search", "-v", "--", "file"}, named("train_x", true),
                       Resume::automatic) == "./search --tune-name=train_x -v -- file");
}

TEST_CASE("the command that goes on does not begin anew", "[resume_command]") {
  const ExperimentInfo info = named("mine", false);
  CHECK(resume_command({"./search", "--tune-resume=fresh", "-v"}, info, Resume::fresh) ==
        "./search --tune-resume=automatic -v");
  CHECK(resume_command({"./search", "--tune-resume", "never", "-v"}, info, Resume::never) ==
        "./search --tune-resume=automatic -v");
  CHECK(resume_command({"./search", "--", "--tune-resume=x"}, info, Resume::fresh) ==
        "./search --tune-resume=automatic -- --tune-resume=x");
  CHECK(resume_command({"./search", "--tune-resume=errored"}, info, Resume::errored) ==
        "./search --tune-resume=errored");
}

}  // namespace
}  // namespace tune::runtime
