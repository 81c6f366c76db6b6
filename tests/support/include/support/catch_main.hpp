#pragma once

namespace tune::test {

/// What main() of a test program does; a program that has none gets one that does only this.
[[nodiscard]] int run_catch(int argc, char** argv);

}  // namespace tune::test
