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
  DriverLog log(pool, folder.path() / "driver.log", DriverLog::OldLines::drop);
  log.write({{"trial", "7"}, {"event", "stopped"}, {"reason", "x >= 3"}, {"", "left out"}});
  log.write({{"text", "two\nlines \"a\""}, {"empty", ""}, {"path", "/a/b-c.d"}});
  pool.flush();
  const std::string text = test::file_text(folder.path() / "driver.log");
  const std::regex expected(
      R"(time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z trial=7 event=stopped reason="x >= 3"\n)"
      R"(time=\S+ text="two\\nlines \\"a\\"" empty="" path=/a/b-c.d\n)");
  CHECK(std::regex_match(text, expected));
}

TEST_CASE("a log goes on behind its old lines, and after a cut one on a line of its own",
          "[driver_log]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "driver.log";
  const std::string old_lines = GENERATE("", "event=old\n", "event=old\nevent=cu");
  const bool is_cut = old_lines.ends_with("cu");
  write_file(path, old_lines);
  for (int run = 0; run < 2; ++run) {
    FilePool pool;
    DriverLog log(pool, path, DriverLog::OldLines::keep);
    log.write({{"event", "new"}});
    pool.flush();
  }
  const std::string text = test::file_text(path);
  const std::string line = "time=\\S+ event=new\n";
  CHECK(std::regex_match(text, std::regex(old_lines + (is_cut ? "\n" : "") + line + line)));
}

TEST_CASE("a log that is not there is made, to go on or not", "[driver_log]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "driver.log";
  FilePool pool;
  DriverLog log(pool, path, GENERATE(DriverLog::OldLines::keep, DriverLog::OldLines::drop));
  log.write({{"event", "new"}});
  pool.flush();
  CHECK(test::file_text(path).ends_with(" event=new\n"));
}

}  // namespace
}  // namespace tune::report
