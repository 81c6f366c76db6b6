#include "benchmarks/measurement.hpp"

#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace tune::bench {
namespace {

Options options_of(std::vector<std::string> words) {
  std::vector<char*> arguments{nullptr};
  for (std::string& word : words) arguments.push_back(word.data());
  return read_options(static_cast<int>(arguments.size()), arguments.data(), "usage\n",
                      [](std::string_view word) { return word == "--own"; });
}

/// What is written to a stream while it lives.
class Written {
 public:
  explicit Written(std::ostream& stream) : stream_(stream), before_(stream.rdbuf(text_.rdbuf())) {}
  ~Written() { stream_.rdbuf(before_); }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::ostream& stream_;
  std::streambuf* before_;
};

TEST_CASE("benchmark options", "[measurement]") {
  CHECK(options_of({}).repetitions == 5);
  CHECK(options_of({"--quick"}).repetitions == 1);
  CHECK(options_of({"--repeat", "3", "--quick"}).repetitions == 3);
  CHECK(options_of({"--quick"}).scaled(1000) == 50);
  CHECK(options_of({"--own", "--filter", "x"}).filter == "x");
  CHECK_THROWS_WITH(options_of({"--other"}), Catch::Contains("--other is unknown"));
  CHECK_THROWS_WITH(options_of({"--filter"}), Catch::Contains("--filter has no value"));
}

TEST_CASE("several series of one run are sampled together", "[measurement]") {
  double n = 0;
  const auto measured = repeated(
      options_of({"--repeat", "2"}),
      {{.name = "a", .unit = "s", .limit_is = {}}, {.name = "b", .unit = "s", .limit_is = {}}},
      [&]() -> std::vector<Sample> {
        ++n;
        return {{.value = n}, {.value = 10 * n}};
      });
  REQUIRE(measured.size() == 2);
  CHECK(measured[0].samples.at(1).value == 2);
  CHECK(measured[1].samples.at(1).value == 20);
}

TEST_CASE("a measurement is a JSON object a line, beside the table", "[measurement]") {
  const Written out(std::cout);
  const Written table(std::cerr);
  const Reporter reporter(options_of({"--json"}));
  reporter.print({.name = "case",
                  .parameters = {{"trials", 7}},
                  .unit = "s",
                  .limit_is = "a bound",
                  .samples = {{1, 1}, {6, 2}, {2, 4}}});
  const Json line = Json::parse(out.text());
  CHECK(line.at("name") == "case");
  CHECK(line.at("parameters").at("trials") == 7);
  CHECK(line.at("value") == 2);
  CHECK(line.at("limit") == 2);
  CHECK(line.at("ratio") == 1);  // the median of 1, 3 and 0.5, not that of values to that of limits
  CHECK(line.at("values") == Json({1.0, 6.0, 2.0}));
  CHECK(line.at("machine").contains("cores"));
  CHECK(table.text().find("2.000 s (1.000 to 6.000); a bound: 2.000, ratio 1.000") !=
        std::string::npos);
}

}  // namespace
}  // namespace tune::bench
