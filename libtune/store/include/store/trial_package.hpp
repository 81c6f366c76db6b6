#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <tune/error.hpp>

namespace tune::store {

/// What a trial printed and wrote beside its checkpoints, on its way to the trial's directory on
/// another machine: a directory `<trial>/outgoing_<n>` with the bytes that `stdout` and `stderr`
/// have become longer by, and further files below `files`.
///
/// Errors name the path and the reason.
inline constexpr std::string_view package_prefix = "outgoing_";

/// How much of a trial's `stdout` and `stderr` has gone before.
struct OutputRead {
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  friend bool operator==(const OutputRead&, const OutputRead&) = default;
};

struct PackedTrial {
  bool is_empty = false;  ///< There is nothing to send, and so no package.
  OutputRead read = {};   ///< Once it has arrived.
};

/// Makes `package` in a trial's directory. `takes_files`: the trial has ended, and what the
/// training code itself wrote there goes along; not what the driver writes there, links,
/// checkpoints, what parallel workers print, and what track::save() and track::artifact() keep,
/// which travel by themselves. What goes along, and the files of the output, are then gone from the
/// directory.
[[nodiscard]] Expected<PackedTrial> pack_trial(const std::filesystem::path& trial,
                                               const std::string& package, OutputRead before,
                                               bool takes_files);

/// The same for what a parallel worker of the trial has printed, once its process has ended.
[[nodiscard]] Expected<PackedTrial> pack_worker(const std::filesystem::path& trial,
                                                const std::string& package, std::size_t rank);

/// Appends the output in `package`, and that of parallel workers, to the files of the trial's
/// directory, and moves the further files there; an older one of the same name becomes
/// "<name>.older_1" and so on. Then removes the package. After an error none of the trial's own
/// output is there.
[[nodiscard]] Expected<void> unpack_trial(const std::filesystem::path& trial,
                                          const std::string& package);

}  // namespace tune::store
