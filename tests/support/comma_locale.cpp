#include "support/comma_locale.hpp"

#include <clocale>
#include <cstdlib>

namespace tune::test {
namespace {

class CommaPunctuation : public std::numpunct<char> {
 protected:
  [[nodiscard]] char do_decimal_point() const override { return ','; }
  [[nodiscard]] char do_thousands_sep() const override { return '.'; }
  [[nodiscard]] std::string do_grouping() const override { return "\3"; }
};

bool set_german() {
  return std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr ||
         std::setlocale(LC_ALL, "de_DE") != nullptr;
}

}  // namespace

CommaLocale::CommaLocale() : previous_c_(std::setlocale(LC_ALL, nullptr)) {
  previous_ = std::locale::global(std::locale(std::locale::classic(), new CommaPunctuation));
  has_c_locale_ = set_german();
  if (!has_c_locale_) {
    const std::string folder = compiled_.path().string();
    const std::string compile =
        "localedef -i de_DE -f UTF-8 '" + folder + "/de_DE.UTF-8' >/dev/null 2>&1";
    if (std::system(compile.c_str()) == 0) {
      setenv("LOCPATH", folder.c_str(), 1);
      has_c_locale_ = set_german();
    }
  }
}

CommaLocale::~CommaLocale() {
  std::locale::global(previous_);
  std::setlocale(LC_ALL, previous_c_.c_str());
  unsetenv("LOCPATH");
}

}  // namespace tune::test
