#include "trainables/cuda/kernels.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "trainables/cuda/cuda_objects.hpp"

namespace tune::trainables {
namespace {

constexpr unsigned block_size = 256;
constexpr std::size_t most_blocks = 1U << 30;

unsigned blocks_for(std::size_t threads) {
  return static_cast<unsigned>(
      std::clamp<std::size_t>((threads + block_size - 1) / block_size, 1, most_blocks));
}

__device__ std::size_t thread_index() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// A division of 64 bits takes several times as long.
__device__ std::size_t divide(std::size_t number, std::size_t by) {
  if ((number | by) >> 32 == 0) {
    return static_cast<std::uint32_t>(number) / static_cast<std::uint32_t>(by);
  }
  return number / by;
}

struct Shape {
  dim3 blocks;
  dim3 threads = block_size;
  std::size_t shared_bytes = 0;
};

// Asks the launch itself what was wrong with it: the thread's last error may be another call's.
template <class... Parameters>
void start(const char* name, void (*kernel)(Parameters...), const Shape& shape, cudaStream_t stream,
           const std::type_identity_t<Parameters>&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = shape.blocks;
  config.blockDim = shape.threads;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...);
  if (error != cudaSuccess) throw_cuda_error(error, std::string("kernel ") + name);
}

bool is_aligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % 16 == 0; }

// Four elements of a row at a time, as wide as the memory bus likes it. `columns` of a kernel is
// the number of such groups in a row; `width` of them fit.
template <int width>
struct Lanes;
template <>
struct Lanes<1> {
  using Floats = float;
  using Bytes = std::uint8_t;
};
template <>
struct Lanes<4> {
  using Floats = float4;
  using Bytes = uchar4;
};

template <int width>
union FloatGroup {
  __device__ FloatGroup() {}
  typename Lanes<width>::Floats group;
  float each[width];
};

template <int width>
__device__ FloatGroup<width> load(const float* values, std::size_t group) {
  FloatGroup<width> loaded;
  loaded.group = reinterpret_cast<const typename Lanes<width>::Floats*>(values)[group];
  return loaded;
}

template <int width>
__device__ void store(float* values, std::size_t group, const FloatGroup<width>& stored) {
  reinterpret_cast<typename Lanes<width>::Floats*>(values)[group] = stored.group;
}

template <int width>
__global__ void gather_kernel(GatherBatch op) {
  const std::size_t i = thread_index();
  const std::size_t groups = op.features / width;
  if (i >= op.rows * groups) return;
  const std::size_t row = divide(i, groups);
  const std::size_t image = op.image(row);
  const std::size_t group = i - row * groups;
  union {
    typename Lanes<width>::Bytes group;
    std::uint8_t each[width];
  } pixels;
  pixels.group =
      reinterpret_cast<const typename Lanes<width>::Bytes*>(op.pixels + image * op.features)[group];
  FloatGroup<width> inputs;
  for (int lane = 0; lane < width; ++lane)
    inputs.each[lane] = GatherBatch::input(pixels.each[lane]);
  store<width>(op.inputs, i, inputs);
  if (group == 0) op.chosen_labels[row] = op.labels[image];
}

template <int width, bool drops>
__global__ void hidden_forward_kernel(HiddenForward op) {
  const std::size_t i = thread_index();
  if (i >= op.rows * op.columns / width) return;
  const std::size_t first = i * width;
  const std::size_t column = first - divide(first, op.columns) * op.columns;
  const std::uint64_t key = op.key();
  FloatGroup<width> values = load<width>(op.values, i);
  for (int lane = 0; lane < width; ++lane) {
    const float bias = op.biases[column + lane];
    values.each[lane] = drops ? op.dropped(values.each[lane], bias, key, first + lane)
                              : HiddenForward::kept(values.each[lane], bias);
  }
  store<width>(op.values, i, values);
}

template <int width>
__global__ void hidden_backward_kernel(HiddenBackward op) {
  const std::size_t i = thread_index();
  if (i >= op.rows * op.columns / width) return;
  const FloatGroup<width> activations = load<width>(op.activations, i);
  FloatGroup<width> gradient = load<width>(op.gradient, i);
  for (int lane = 0; lane < width; ++lane) {
    gradient.each[lane] = op.value(activations.each[lane], gradient.each[lane]);
  }
  store<width>(op.gradient, i, gradient);
}

constexpr unsigned most_rows_a_tile = 128;

// A block takes some rows through shared memory, so that neighbours read neighbouring addresses;
// then a thread has a row. An odd number of floats between rows keeps their banks apart. Where the
// number of classes is known here, all that a thread reads is under way at once, its row stays in
// registers, and no division takes time.
template <unsigned known_classes>
__global__ __launch_bounds__(most_rows_a_tile) void classify_kernel(Classify op, unsigned stride) {
  extern __shared__ float tile[];
  const unsigned threads = known_classes > 0 ? most_rows_a_tile : blockDim.x;
  if (known_classes > 0) {
    op.classes = known_classes;
    stride = known_classes | 1;
  }
  const auto classes = static_cast<unsigned>(op.classes);
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * threads;
  const auto rows = static_cast<unsigned>(min(static_cast<std::size_t>(threads), op.rows - first));
  const unsigned numbers = rows * classes;
  const auto place = [=](unsigned i) { return i / classes * stride + i % classes; };
  const float* const logits = op.logits + first * classes;
#pragma unroll
  for (unsigned c = 0; c < classes; ++c) {
    const unsigned i = c * threads + threadIdx.x;
    if (i < numbers) tile[place(i)] = logits[i];
  }
  __syncthreads();
  const bool wants_gradient = op.gradient != nullptr;
  if (threadIdx.x < rows) {
    const std::size_t row = first + threadIdx.x;
    float* const in_tile = tile + threadIdx.x * stride;
    float loss = 0;
    float hit = 0;
    if constexpr (known_classes > 0) {
      float values[known_classes];
      op.classify_row(in_tile, values, op.labels[row], wants_gradient, loss, hit);
      for (unsigned c = 0; c < known_classes; ++c) in_tile[c] = values[c];
    } else {
      op.classify_row(in_tile, in_tile, op.labels[row], wants_gradient, loss, hit);
    }
    op.losses[row] = loss;
    op.hits[row] = hit;
  }
  if (!wants_gradient) return;
  __syncthreads();
  float* const gradient = op.gradient + first * classes;
#pragma unroll
  for (unsigned c = 0; c < classes; ++c) {
    const unsigned i = c * threads + threadIdx.x;
    if (i < numbers) gradient[i] = tile[place(i)];
  }
}

constexpr unsigned sum_groups_at_once = 32;
constexpr unsigned sum_rows_at_once = 8;

// Sums of a chunk of rows: a warp reads 32 neighbours of a row, and eight of them add up theirs.
template <int width>
__global__ void sum_columns_kernel(const float* values, std::size_t rows, std::size_t columns,
                                   std::size_t rows_a_chunk, float* sums) {
  __shared__ float parts[sum_rows_at_once][sum_groups_at_once][width];
  const std::size_t groups = columns / width;
  const std::size_t group = static_cast<std::size_t>(blockIdx.x) * sum_groups_at_once + threadIdx.x;
  const std::size_t begin = blockIdx.y * rows_a_chunk;
  const std::size_t end = min(begin + rows_a_chunk, rows);
  float sum[width] = {};
  if (group < groups) {
#pragma unroll 4
    for (std::size_t row = begin + threadIdx.y; row < end; row += sum_rows_at_once) {
      const FloatGroup<width> more = load<width>(values, row * groups + group);
      for (int lane = 0; lane < width; ++lane) sum[lane] += more.each[lane];
    }
  }
  for (int lane = 0; lane < width; ++lane) parts[threadIdx.y][threadIdx.x][lane] = sum[lane];
  __syncthreads();
  if (threadIdx.y != 0 || group >= groups) return;
  for (int lane = 0; lane < width; ++lane) {
    for (unsigned part = 1; part < sum_rows_at_once; ++part) {
      sum[lane] += parts[part][threadIdx.x][lane];
    }
    sums[blockIdx.y * columns + group * width + lane] = sum[lane];
  }
}

__global__ void add_up_kernel(AddUp op) {
  __shared__ double losses[block_size];
  __shared__ double hits[block_size];
  double loss = 0;
  double hit = 0;
  for (std::size_t row = threadIdx.x; row < op.rows; row += block_size) {
    loss += op.losses[row];
    hit += op.hits[row];
  }
  losses[threadIdx.x] = loss;
  hits[threadIdx.x] = hit;
  for (unsigned half = block_size / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      losses[threadIdx.x] += losses[threadIdx.x + half];
      hits[threadIdx.x] += hits[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) {
    op.totals[0] += losses[0];
    op.totals[1] += hits[0];
  }
}

// Four at a time; the thread behind the last of them has those that are left.
__global__ void sgd_kernel(SgdUpdate op) {
  const std::size_t i = thread_index();
  const std::size_t groups = op.count / 4;
  if (i < groups) {
    FloatGroup<4> parameters = load<4>(op.parameters, i);
    FloatGroup<4> velocity = load<4>(op.velocity, i);
    const FloatGroup<4> gradients = load<4>(op.gradients, i);
    for (int lane = 0; lane < 4; ++lane) {
      op.apply(parameters.each[lane], velocity.each[lane], gradients.each[lane]);
    }
    store<4>(op.parameters, i, parameters);
    store<4>(op.velocity, i, velocity);
  } else if (i == groups) {
    for (std::size_t k = groups * 4; k < op.count; ++k) {
      op.apply(op.parameters[k], op.velocity[k], op.gradients[k]);
    }
  }
}

__global__ void adam_kernel(AdamUpdate op) {
  const std::size_t i = thread_index();
  const std::size_t groups = op.count / 4;
  if (i > groups) return;
  const AdamStep<float> step = op.step();
  if (i < groups) {
    FloatGroup<4> parameters = load<4>(op.parameters, i);
    FloatGroup<4> mean = load<4>(op.mean, i);
    FloatGroup<4> square = load<4>(op.square, i);
    const FloatGroup<4> gradients = load<4>(op.gradients, i);
    for (int lane = 0; lane < 4; ++lane) {
      adam_update(parameters.each[lane], mean.each[lane], square.each[lane], gradients.each[lane],
                  step);
    }
    store<4>(op.parameters, i, parameters);
    store<4>(op.mean, i, mean);
    store<4>(op.square, i, square);
    return;
  }
  for (std::size_t k = groups * 4; k < op.count; ++k) {
    adam_update(op.parameters[k], op.mean[k], op.square[k], op.gradients[k], step);
  }
}

__global__ void advance_kernel(std::uint32_t* counter) { ++*counter; }

constexpr unsigned tile_size = 64;   // of the product, both ways
constexpr unsigned tile_depth = 16;  // of what is multiplied at once
constexpr unsigned per_thread = 4;   // elements, both ways

// Each thread has 4 x 4 elements of a tile of the product, whose factors go through shared memory.
template <bool left_transposed, bool right_transposed>
__global__ void multiply_kernel(Multiply op) {
  __shared__ float left[tile_depth][tile_size + 1];
  __shared__ float right[tile_depth][tile_size + 1];
  op.is_left_transposed = left_transposed;
  op.is_right_transposed = right_transposed;
  const std::size_t first_row = static_cast<std::size_t>(blockIdx.y) * tile_size;
  const std::size_t first_column = static_cast<std::size_t>(blockIdx.x) * tile_size;
  const unsigned across = threadIdx.x % (tile_size / per_thread);
  const unsigned down = threadIdx.x / (tile_size / per_thread);
  float sums[per_thread][per_thread] = {};
  for (std::size_t begin = 0; begin < op.inner; begin += tile_depth) {
    for (unsigned i = threadIdx.x; i < tile_size * tile_depth; i += block_size) {
      // Neighbouring threads read neighbouring addresses, whichever way a factor stands.
      const unsigned row = left_transposed ? i % tile_size : i / tile_depth;
      const unsigned depth = left_transposed ? i / tile_size : i % tile_depth;
      const bool exists = first_row + row < op.rows && begin + depth < op.inner;
      left[depth][row] = exists ? op.left_at(first_row + row, begin + depth) : 0;
      const unsigned column = right_transposed ? i / tile_depth : i % tile_size;
      const unsigned deep = right_transposed ? i % tile_depth : i / tile_size;
      const bool is_there = first_column + column < op.columns && begin + deep < op.inner;
      right[deep][column] = is_there ? op.right_at(begin + deep, first_column + column) : 0;
    }
    __syncthreads();
    for (unsigned depth = 0; depth < tile_depth; ++depth) {
      float factors[per_thread];
      for (unsigned c = 0; c < per_thread; ++c) {
        factors[c] = right[depth][across + c * (tile_size / per_thread)];
      }
      for (unsigned r = 0; r < per_thread; ++r) {
        const float factor = left[depth][down + r * (tile_size / per_thread)];
        for (unsigned c = 0; c < per_thread; ++c) sums[r][c] += factor * factors[c];
      }
    }
    __syncthreads();
  }
  for (unsigned r = 0; r < per_thread; ++r) {
    const std::size_t row = first_row + down + r * (tile_size / per_thread);
    if (row >= op.rows) break;
    for (unsigned c = 0; c < per_thread; ++c) {
      const std::size_t column = first_column + across + c * (tile_size / per_thread);
      if (column < op.columns) op.product[row * op.columns + column] = sums[r][c];
    }
  }
}

}  // namespace

void launch(const GatherBatch& op, cudaStream_t stream) {
  if (op.features % 4 == 0 && is_aligned(op.pixels)) {
    start("gather", gather_kernel<4>, {blocks_for(op.rows * (op.features / 4))}, stream, op);
  } else {
    start("gather", gather_kernel<1>, {blocks_for(op.rows * op.features)}, stream, op);
  }
}

void launch(const HiddenForward& op, cudaStream_t stream) {
  const std::size_t count = op.rows * op.columns;
  const bool drops = op.keys != nullptr;
  if (op.columns % 4 == 0) {
    start("hidden_forward",
          drops ? hidden_forward_kernel<4, true> : hidden_forward_kernel<4, false>,
          {blocks_for(count / 4)}, stream, op);
  } else {
    start("hidden_forward",
          drops ? hidden_forward_kernel<1, true> : hidden_forward_kernel<1, false>,
          {blocks_for(count)}, stream, op);
  }
}

void launch(const HiddenBackward& op, cudaStream_t stream) {
  const std::size_t count = op.rows * op.columns;
  if (count % 4 == 0) {
    start("hidden_backward", hidden_backward_kernel<4>, {blocks_for(count / 4)}, stream, op);
  } else {
    start("hidden_backward", hidden_backward_kernel<1>, {blocks_for(count)}, stream, op);
  }
}

void launch(const Classify& op, cudaStream_t stream) {
  constexpr std::size_t most_floats = 48 * 1024 / sizeof(float);
  const auto stride = static_cast<unsigned>(op.classes | 1);
  unsigned rows = most_rows_a_tile;
  while (rows > 1 && rows * stride > most_floats) rows /= 2;
  const auto blocks = static_cast<unsigned>((op.rows + rows - 1) / rows);
  start("classify", op.classes == 10 ? classify_kernel<10> : classify_kernel<0>,
        {blocks, rows, rows * stride * sizeof(float)}, stream, op, stride);
}

void launch(const SumColumns& op, float* scratch, cudaStream_t stream) {
  constexpr std::size_t fewest_rows_a_chunk = 32;
  // Not too many: one block adds up those of a column.
  const std::size_t most_chunks =
      std::min({std::max<std::size_t>(1, column_sums_scratch / op.columns),
                std::max<std::size_t>(1, op.rows / fewest_rows_a_chunk), std::size_t{512}});
  const std::size_t rows_a_chunk = (op.rows + most_chunks - 1) / most_chunks;
  const std::size_t chunks = (op.rows + rows_a_chunk - 1) / rows_a_chunk;
  const std::size_t width = op.columns % 4 == 0 ? 4 : 1;
  auto* const kernel = width == 4 ? sum_columns_kernel<4> : sum_columns_kernel<1>;
  const dim3 block(sum_groups_at_once, sum_rows_at_once);
  const auto across =
      static_cast<unsigned>((op.columns / width + sum_groups_at_once - 1) / sum_groups_at_once);
  start("sum_columns", kernel, {dim3(across, static_cast<unsigned>(chunks)), block}, stream,
        op.values, op.rows, op.columns, rows_a_chunk, chunks == 1 ? op.sums : scratch);
  if (chunks == 1) return;
  start("sum_columns, of its chunks", kernel, {dim3(across), block}, stream, scratch, chunks,
        op.columns, chunks, op.sums);
}

void launch(const AddUp& op, cudaStream_t stream) {
  start("add_up", add_up_kernel, {1}, stream, op);
}

void launch(const SgdUpdate& op, cudaStream_t stream) {
  start("sgd", sgd_kernel, {blocks_for(op.count / 4 + 1)}, stream, op);
}

void launch(const AdamUpdate& op, cudaStream_t stream) {
  start("adam", adam_kernel, {blocks_for(op.count / 4 + 1)}, stream, op);
}

void launch_advance(std::uint32_t* counter, cudaStream_t stream) {
  start("advance", advance_kernel, {1, 1}, stream, counter);
}

void launch_multiply(const Multiply& op, cudaStream_t stream) {
  auto* const kernel =
      op.is_left_transposed
          ? (op.is_right_transposed ? multiply_kernel<true, true> : multiply_kernel<true, false>)
          : (op.is_right_transposed ? multiply_kernel<false, true> : multiply_kernel<false, false>);
  const dim3 blocks(static_cast<unsigned>((op.columns + tile_size - 1) / tile_size),
                    static_cast<unsigned>((op.rows + tile_size - 1) / tile_size));
  start("multiply", kernel, {blocks}, stream, op);
}

}  // namespace tune::trainables
