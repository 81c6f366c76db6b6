#pragma once

#include <cstdint>
#include <filesystem>

// What bounds the cases, measured beside them.
namespace tune::bench {

/// Messages a second between two actors, of which the receiver lets a thousand come at a time.
[[nodiscard]] double raw_messages_per_second(std::int64_t count);
/// Microseconds from one actor to another and back.
[[nodiscard]] double raw_round_trip_us(std::int64_t count);

enum class Wire { socket_pair, loopback_tcp };
/// Frames of 200 bytes a second from one thread to another.
[[nodiscard]] double raw_frames_per_second(Wire wire, std::int64_t count);
/// Processes a second that do nothing, one after the other: fork, exec, wait.
[[nodiscard]] double raw_processes_per_second(std::int64_t count);
/// Hand-overs a second from one thread to another and back, by a mutex and a condition.
[[nodiscard]] double raw_handovers_per_second(std::int64_t count);
/// Files a second of 4 KiB, written and renamed.
[[nodiscard]] double raw_files_per_second(const std::filesystem::path& directory,
                                          std::int64_t count);
/// Directories made a second, in one.
[[nodiscard]] double raw_directories_per_second(const std::filesystem::path& directory,
                                                std::int64_t count);
/// Writes a file of so many bytes and forces it to the disk.
void write_plain_file(const std::filesystem::path& file, std::int64_t size_bytes);

}  // namespace tune::bench
