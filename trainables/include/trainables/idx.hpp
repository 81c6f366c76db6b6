#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace tune::trainables {

/// What an IDX file of unsigned bytes holds: the sizes of its dimensions and the values, last
/// dimension fastest.
struct IdxArray {
  std::vector<std::size_t> dimensions;
  std::vector<std::uint8_t> values;
};

/// Reads an IDX file of unsigned bytes, as the MNIST family has them, compressed by gzip or plain.
///
/// Checks the magic number (element type and number of dimensions), that there are as many values
/// as the dimensions say and no byte more, and gzip's own checksum. Memory grows with what the file
/// really holds, whatever its header claims.
/// @throws std::runtime_error naming the file, what is wrong, the value and the one wanted.
[[nodiscard]] IdxArray read_idx(const std::filesystem::path& file, std::size_t dimensions);

}  // namespace tune::trainables
