#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tune::trainables {

/// All that training needs to go on, as it stands in a checkpoint file.
struct MlpState {
  std::vector<std::int64_t> sizes;  ///< Widths from the inputs to the classes.
  std::string optimizer;            ///< Its name.
  std::int64_t epochs = 0;          ///< Done so far.
  std::int64_t optimizer_steps = 0;
  std::vector<float> parameters;
  std::vector<std::vector<float>> optimizer_state;  ///< Each as long as `parameters`.
};

/// Writes `state` to a new file, bit for bit.
///
/// Little-endian: "tune-mlp", version, then lengths before contents, and a CRC-32 of all before it
/// at the end.
/// @throws std::runtime_error naming the file and why it cannot be written.
void write_checkpoint_file(const std::filesystem::path& file, const MlpState& state);

/// Reads it back.
/// @throws std::runtime_error naming the file, what is wrong (length, header, a size that
/// contradicts another, checksum), the value and the one wanted.
[[nodiscard]] MlpState read_checkpoint_file(const std::filesystem::path& file);

}  // namespace tune::trainables
