#include "support/host_device.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace tune::test {
namespace {

using trainables::AdamStep;

class Replay final : public trainables::Recording {
 public:
  Replay(std::vector<std::function<void()>> operations, std::shared_ptr<std::size_t> plays)
      : operations_(std::move(operations)), plays_(std::move(plays)) {}
  void play() override {
    ++*plays_;
    for (const auto& operation : operations_) operation();
  }

 private:
  std::vector<std::function<void()>> operations_;
  std::shared_ptr<std::size_t> plays_;
};

}  // namespace

void* HostDevice::allocate(std::size_t bytes) {
  std::vector<std::byte> block(bytes);
  std::byte* const data = block.data();
  blocks_.emplace(data, std::move(block));
  return data;
}

void HostDevice::release(void* memory) noexcept { blocks_.erase(static_cast<std::byte*>(memory)); }

void HostDevice::upload(void* to, const void* from, std::size_t bytes) {
  check_block(to, bytes);
  std::memcpy(to, from, bytes);
}

void HostDevice::download(void* to, const void* from, std::size_t bytes) {
  check_block(from, bytes);
  std::memcpy(to, from, bytes);
}

void HostDevice::check_block(const void* memory, std::size_t bytes) const {
  const auto block = blocks_.find(static_cast<const std::byte*>(memory));
  if (block == blocks_.end() || block->second.size() < bytes) {
    throw std::logic_error("a copy of " + std::to_string(bytes) + " bytes beyond the block");
  }
}

void HostDevice::now_or_later(Operation operation) {
  if (recording_ != nullptr) {
    recording_->push_back(std::move(operation));
  } else {
    operation();
  }
}

void HostDevice::run(const trainables::GatherBatch& op) {
  now_or_later([op] {
    for (std::size_t row = 0; row < op.rows; ++row) {
      const std::size_t image = op.image(row);
      op.chosen_labels[row] = op.labels[image];
      for (std::size_t i = 0; i < op.features; ++i) {
        op.inputs[row * op.features + i] = op.input(op.pixels[image * op.features + i]);
      }
    }
  });
}

void HostDevice::run(const trainables::Multiply& op) {
  now_or_later([op] {
    for (std::size_t row = 0; row < op.rows; ++row) {
      for (std::size_t column = 0; column < op.columns; ++column) {
        float sum = 0;
        for (std::size_t i = 0; i < op.inner; ++i) {
          sum += op.left_at(row, i) * op.right_at(i, column);
        }
        op.product[row * op.columns + column] = sum;
      }
    }
  });
}

void HostDevice::run(const trainables::HiddenForward& op) {
  now_or_later([op] {
    for (std::size_t i = 0; i < op.rows * op.columns; ++i) {
      const float bias = op.biases[i % op.columns];
      op.values[i] = op.keys == nullptr ? op.kept(op.values[i], bias)
                                        : op.dropped(op.values[i], bias, op.key(), i);
    }
  });
}

void HostDevice::run(const trainables::HiddenBackward& op) {
  now_or_later([op] {
    for (std::size_t i = 0; i < op.rows * op.columns; ++i) {
      op.gradient[i] = op.value(op.activations[i], op.gradient[i]);
    }
  });
}

void HostDevice::run(const trainables::Classify& op) {
  now_or_later([op] {
    std::vector<float> row(op.classes);
    for (std::size_t r = 0; r < op.rows; ++r) {
      std::copy_n(op.logits + r * op.classes, op.classes, row.begin());
      op.classify_row(row.data(), row.data(), op.labels[r], op.gradient != nullptr, op.losses[r],
                      op.hits[r]);
      if (op.gradient != nullptr) std::ranges::copy(row, op.gradient + r * op.classes);
    }
  });
}

void HostDevice::run(const trainables::SumColumns& op) {
  now_or_later([op] {
    for (std::size_t column = 0; column < op.columns; ++column) {
      float sum = 0;
      for (std::size_t row = 0; row < op.rows; ++row) sum += op.values[row * op.columns + column];
      op.sums[column] = sum;
    }
  });
}

void HostDevice::run(const trainables::AddUp& op) {
  now_or_later([op] {
    for (std::size_t row = 0; row < op.rows; ++row) {
      op.totals[0] += op.losses[row];
      op.totals[1] += op.hits[row];
    }
  });
}

void HostDevice::run(const trainables::SgdUpdate& op) {
  now_or_later([op] {
    for (std::size_t i = 0; i < op.count; ++i) {
      op.apply(op.parameters[i], op.velocity[i], op.gradients[i]);
    }
  });
}

void HostDevice::run(const trainables::AdamUpdate& op) {
  now_or_later([op] {
    const AdamStep<float> step = op.step();
    for (std::size_t i = 0; i < op.count; ++i) {
      adam_update(op.parameters[i], op.mean[i], op.square[i], op.gradients[i], step);
    }
  });
}

void HostDevice::advance(std::uint32_t* counter) {
  now_or_later([counter] { ++*counter; });
}

std::unique_ptr<trainables::Recording> HostDevice::record(const std::function<void()>& operations) {
  if (!records_) return nullptr;
  std::vector<Operation> recorded;
  recording_ = &recorded;
  operations();
  recording_ = nullptr;
  return std::make_unique<Replay>(std::move(recorded), plays_);
}

}  // namespace tune::test
