#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tune::test {

/// The bytes of an IDX file of unsigned bytes with these dimensions.
[[nodiscard]] std::string idx_bytes(const std::vector<std::uint32_t>& dimensions,
                                    std::span<const std::uint8_t> values);

/// Writes `bytes` as they are.
void write_plain(const std::filesystem::path& file, const std::string& bytes);
/// Writes `bytes` compressed by gzip.
void write_gzip(const std::filesystem::path& file, const std::string& bytes);
/// The content of a file.
[[nodiscard]] std::string read_bytes(const std::filesystem::path& file);

/// Writes the four files of a small data set that can be learned: 4 x 4 pixels, three classes, each
/// with four bright pixels of its own among noise.
void write_tiny_data_set(const std::filesystem::path& folder, std::size_t training_images = 330,
                         std::size_t test_images = 90);

}  // namespace tune::test
