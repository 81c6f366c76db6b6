#pragma once

namespace tune {

/// The first line of main(): trials then run in worker processes, for which the same program is
/// started anew. In such a process this call serves the trials and never returns; in the program
/// itself it returns at once.
///
/// It takes the `--tune-...` options that it knows out of `argc` and `argv`, with their values, and
/// leaves all else in its order: the program's own `--help`, too, and what stands behind `--`. They
/// set fields of each Experiment that this process runs afterwards, in place of what the program
/// sets; the Experiment keeps them. `--tune-help` lists them on stdout and ends the program. An
/// unknown option or a value that is not allowed is said on stderr and ends it with exit code 2.
/// With `--tune-join` it makes the process a node of a driver (docs/cluster.md), and never returns.
/// Whatever stands before it in main() is done by each worker process and each node, too.
/// @throws std::invalid_argument if the one argument is that of a process which tune starts itself,
/// and was given by hand.
void init(int& argc, char** argv);

namespace detail {
/// init() was called.
[[nodiscard]] bool is_initialised();
}  // namespace detail

}  // namespace tune
