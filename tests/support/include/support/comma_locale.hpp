#pragma once

#include <locale>
#include <string>

#include "support/temporary_folder.hpp"

namespace tune::test {

/// While it lives, numbers are written with a decimal comma, as in German: by C++ streams, and by
/// the C library where `localedef` can compile a locale.
class CommaLocale {
 public:
  CommaLocale();
  ~CommaLocale();
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  /// Whether the C library takes part.
  [[nodiscard]] bool has_c_locale() const { return has_c_locale_; }

 private:
  TemporaryFolder compiled_;
  std::string previous_c_;
  std::locale previous_;
  bool has_c_locale_ = false;
};

}  // namespace tune::test
