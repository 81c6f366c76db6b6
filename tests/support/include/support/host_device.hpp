#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trainables/mlp/device.hpp"

namespace tune::test {

/// A device of plain loops over the bodies that kernels call, with memory of its own, which knows
/// what it allocated. What it records it does again with the very arguments of the first time.
class HostDevice final : public trainables::Device {
 public:
  explicit HostDevice(bool records = true) : records_(records) {}

  [[nodiscard]] std::string describe() const override { return "loops"; }
  [[nodiscard]] void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void upload(void* to, const void* from, std::size_t bytes) override;
  void download(void* to, const void* from, std::size_t bytes) override;
  void run(const trainables::GatherBatch& op) override;
  void run(const trainables::Multiply& op) override;
  void run(const trainables::HiddenForward& op) override;
  void run(const trainables::HiddenBackward& op) override;
  void run(const trainables::Classify& op) override;
  void run(const trainables::SumColumns& op) override;
  void run(const trainables::AddUp& op) override;
  void run(const trainables::SgdUpdate& op) override;
  void run(const trainables::AdamUpdate& op) override;
  void advance(std::uint32_t* counter) override;
  [[nodiscard]] std::unique_ptr<trainables::Recording> record(
      const std::function<void()>& operations) override;

  [[nodiscard]] std::size_t allocations() const { return blocks_.size(); }
  [[nodiscard]] std::size_t plays() const { return *plays_; }

 private:
  using Operation = std::function<void()>;
  void now_or_later(Operation operation);
  void check_block(const void* memory, std::size_t bytes) const;

  bool records_;
  std::vector<Operation>* recording_ = nullptr;
  std::map<const std::byte*, std::vector<std::byte>> blocks_;
  std::shared_ptr<std::size_t> plays_ = std::make_shared<std::size_t>(0);
};

}  // namespace tune::test
