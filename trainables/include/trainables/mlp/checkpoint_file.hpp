#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tune::trainables {

/// The file in a checkpoint's directory, of Mlp and of CudaMlp.
inline constexpr std::string_view mlp_checkpoint_name = "mlp.bin";

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

/// What a checkpoint must agree with to go on from it.
struct MlpShape {
  std::vector<std::int64_t> sizes;
  std::string optimizer;
  std::size_t parameters = 0;
  std::size_t optimizer_arrays = 0;
};

/// Reads one that has this shape.
/// @throws std::runtime_error as read_checkpoint_file(), and naming what does not fit.
[[nodiscard]] MlpState read_matching_checkpoint(const std::filesystem::path& file,
                                                const MlpShape& wanted);

}  // namespace tune::trainables
