#include "support/comma_locale.hpp"

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tune::test {
namespace {

class CommaPunctuation : public std::numpunct<char> {
 protected:
  [[nodiscard]] char do_decimal_point() const override { return ','; }
  [[nodiscard]] char do_thousands_sep() const override { return '.'; }
  [[nodiscard]] std::string do_grouping() const override { return "\3"; }
};

// Compiles a locale of that kind into `folder`: numbers only, which takes milliseconds.
void compile_locale(const std::filesystem::path& folder) {
  std::ofstream(folder / "comma.txt") << "LC_NUMERIC\n"
                                         "decimal_point \",\"\n"
                                         "thousands_sep \".\"\n"
                                         "grouping 3;3\n"
                                         "END LC_NUMERIC\n";
  // It warns, and fails, about the categories that are left out, but writes what is there.
  const std::string command = "cd '" + folder.string() +
                              "' && localedef -c -i ./comma.txt -f ANSI_X3.4-1968 ./comma "
                              ">/dev/null 2>&1";
  [[maybe_unused]] const int status = std::system(command.c_str());
}

}  // namespace

CommaLocale::CommaLocale() : previous_c_(std::setlocale(LC_NUMERIC, nullptr)) {
  previous_ = std::locale::global(std::locale(std::locale::classic(), new CommaPunctuation));
  compile_locale(compiled_.path());
  setenv("LOCPATH", compiled_.path().c_str(), 1);
  has_c_locale_ = std::setlocale(LC_NUMERIC, "comma") != nullptr;
}

CommaLocale::~CommaLocale() {
  std::locale::global(previous_);
  std::setlocale(LC_NUMERIC, previous_c_.c_str());
  unsetenv("LOCPATH");
}

}  // namespace tune::test
