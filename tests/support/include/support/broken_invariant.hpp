#pragma once

#include <stdexcept>

namespace tune::test {

/// The engine did what it must never do. Thrown outside the engine, so that nothing catches it.
class BrokenInvariant : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace tune::test
