#include "report/display_text.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

namespace tune::report {
namespace {

TEST_CASE("what a terminal would take for a command is shown as blanks", "[display_text]") {
  CHECK(printable("a\x1b[31mb\n\tc\x7f", Charset::unicode) == "a [31mb  c ");
  CHECK(printable("\xC2\x9B\x31m", Charset::unicode) == " 1m");  // CSI in eight bits
  CHECK(printable("\xE2\x80\xAEgnp.exe", Charset::unicode) == " gnp.exe");
  CHECK(printable("a\xFFz", Charset::unicode) == "a\xEF\xBF\xBDz");
  CHECK(printable("größe", Charset::unicode) == "größe");
  CHECK(printable("größe", Charset::ascii) == "gr??e");
}

TEST_CASE("width counts columns, not bytes", "[display_text]") {
  CHECK(display_width("") == 0);
  CHECK(display_width("größe") == 5);
  CHECK(display_width("学習率") == 6);
  CHECK(display_width("e\xCC\x81") == 1);  // a combining accent
  CHECK(display_width("\xF0\x9F\x98\x80") == 2);
}

TEST_CASE("text is shortened to columns, never within a character", "[display_text]") {
  CHECK(shorten("learning", 8, Charset::ascii) == "learning");
  CHECK(shorten("learning", 7, Charset::ascii) == "lear...");
  CHECK(shorten("learning", 3, Charset::ascii) == "...");
  CHECK(shorten("learning", 2, Charset::ascii) == "..");
  CHECK(shorten("learning", 0, Charset::ascii).empty());
  CHECK(shorten("学習率の値", 10, Charset::unicode) == "学習率の値");
  CHECK(shorten("学習率の値", 9, Charset::unicode) == "学習率の…");
  CHECK(shorten("学習率の値", 8, Charset::unicode) == "学習率…");
  CHECK(shorten("学習率の値", 1, Charset::unicode) == "…");
  CHECK(shorten("学習率の値", 0, Charset::unicode).empty());
  CHECK(shorten_front("/a/b/error.txt", 12, Charset::ascii) == "...error.txt");
  CHECK(shorten_front("/a/学/error.txt", 12, Charset::unicode) == "…/error.txt");
  for (const Charset charset : {Charset::ascii, Charset::unicode}) {
    for (std::size_t columns = 0; columns < 20; ++columns) {
      CHECK(display_width(shorten("größe e\xCC\x81 学習率の値", columns, charset)) <= columns);
      CHECK(display_width(shorten_front("größe e\xCC\x81 学習率の値", columns, charset)) <=
            columns);
    }
  }
}

TEST_CASE("numbers are short and say what they are", "[display_text]") {
  CHECK(column_number(0.9) == "0.9000");
  CHECK(column_number(-12.3) == "-12.30");
  CHECK(column_number(0) == "0.000");
  CHECK(column_number(1234.5) == "1234");  // to even
  CHECK(column_number(123456.7) == "123457");
  CHECK(column_number(1.23e-5) == "1.230e-05");
  CHECK(column_number(4e12) == "4.000e+12");
  CHECK(column_number(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(column_number(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(short_number(0.9) == "0.9");
  CHECK(short_number(-0.0) == "0");
  CHECK(short_number(100000) == "100000");
  CHECK(short_number(0.0001) == "0.0001");
  CHECK(short_number(0.00276912) == "0.002769");
  CHECK(short_number(1e30) == "1e+30");
  CHECK(short_number(INFINITY) == "inf");
}

TEST_CASE("values of metrics and parameters as a column shows them", "[display_text]") {
  CHECK(metric_text(true) == "true");
  CHECK(metric_text(INT64_MAX) == "9223372036854775807");
  CHECK(metric_text(2.5) == "2.500");
  CHECK(metric_text("text") == "text");
  CHECK(parameter_text("sgd") == "sgd");
  CHECK(parameter_text(3) == "3");
  CHECK(parameter_text(0.00276912) == "0.002769");
  CHECK(parameter_text(nullptr) == "null");
  CHECK(parameter_text(Json::array({128, 64.5, "x"})) == "[128,64.5,x]");
  CHECK(parameter_text(Json::object()) == "{}");
}

TEST_CASE("durations", "[display_text]") {
  const auto text = [](double seconds) {
    return duration_text(std::chrono::duration<double>(seconds));
  };
  CHECK(text(0) == "0 ms");
  CHECK(text(-3) == "0 ms");
  CHECK(text(0.0341) == "34 ms");
  CHECK(text(0.43) == "0.4 s");
  CHECK(text(9.96) == "10 s");
  CHECK(text(59.6) == "1:00");
  CHECK(text(192) == "3:12");
  CHECK(text(3792) == "1:03:12");
  CHECK(text(2 * 86400 + 3 * 3600 + 12 * 60) == "2 d 03:12");
  CHECK(text(1e300) == "for ever");
  CHECK(text(NAN) == "0 ms");
}

}  // namespace
}  // namespace tune::report
