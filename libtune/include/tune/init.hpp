#pragma once

namespace tune {

/// The first line of main(): trials then run in worker processes, for which the same program is
/// started anew. In such a process this call serves the trials and never returns; in the program
/// itself it returns at once.
///
/// Whatever stands before it in main() is done by each worker process too.
/// @throws std::invalid_argument for an argument of tune's own that is not right.
void init(int& argc, char** argv);

namespace detail {
/// init() was called.
[[nodiscard]] bool is_initialised();
}  // namespace detail

}  // namespace tune
