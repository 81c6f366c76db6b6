#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "trainables/mlp/device_operations.hpp"

/// The kernels of a step of training. Each is queued on `stream` and checked as a launch; what it
/// does wrong shows at the next wait.
namespace tune::trainables {

void launch(const GatherBatch& op, cudaStream_t stream);
void launch(const HiddenForward& op, cudaStream_t stream);
void launch(const HiddenBackward& op, cudaStream_t stream);
void launch(const Classify& op, cudaStream_t stream);
void launch(const AddUp& op, cudaStream_t stream);
void launch(const SgdUpdate& op, cudaStream_t stream);
void launch(const AdamUpdate& op, cudaStream_t stream);
void launch_advance(std::uint32_t* counter, cudaStream_t stream);

/// Floats that sum_columns needs beside its arguments, at most.
inline constexpr std::size_t column_sums_scratch = std::size_t{1} << 18;
/// @param scratch column_sums_scratch floats, of this stream alone
void launch(const SumColumns& op, float* scratch, cudaStream_t stream);

/// A matrix product without cuBLAS, in tiles.
void launch_multiply(const Multiply& op, cudaStream_t stream);

}  // namespace tune::trainables
