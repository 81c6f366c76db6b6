#include "report/driver_log.hpp"

#include <regex>
#include <string>

#include <catch2/catch.hpp>

#include "support/temporary_folder.hpp"
#include "trial_files.hpp"

namespace tune::report {
namespace {

TEST_CASE("a log line has a time and pairs, quoted where a reader would stumble", "[driver_log]") {
  const test::TemporaryFolder folder;
  FilePool pool;
  DriverLog log(pool, folder.path() / "driver.log");
  log.write({{"trial", "7"}, {"event", "stopped"}, {"reason", "x >= 3"}, {"", "left out"}});
  log.write({{"text", "two\nlines \"a\""}, {"empty", ""}, {"path", "/a/b-c.d"}});
  pool.flush();
  const std::string text = test::file_text(folder.path() / "driver.log");
  const std::regex expected(
      R"(time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z trial=7 event=stopped reason="x >= 3"\n)"
      R"(time=\S+ text="two\\nlines \\"a\\"" empty="" path=/a/b-c.d\n)");
  CHECK(std::regex_match(text, expected));
}

}  // namespace
}  // namespace tune::report
