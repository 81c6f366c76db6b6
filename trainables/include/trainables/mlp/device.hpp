#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainables/mlp/device_operations.hpp"

namespace tune::trainables {

/// Steps that a device has recorded and can do again at less cost than one by one.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void play() = 0;
};

/// What trains a network: memory, and operations that are done in the order in which they are
/// given.
///
/// All of it throws std::runtime_error naming what failed and why. An operation may fail later, at
/// the next download.
class Device {
 public:
  virtual ~Device() = default;

  /// For people: what it is, and how it multiplies matrices.
  [[nodiscard]] virtual std::string describe() const = 0;

  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;  ///< All zero.
  virtual void release(void* memory) noexcept = 0;
  /// `from` may change after it returns.
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  /// Waits for all that was asked before.
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;

  virtual void run(const GatherBatch&) = 0;
  virtual void run(const Multiply&) = 0;
  virtual void run(const HiddenForward&) = 0;
  virtual void run(const HiddenBackward&) = 0;
  virtual void run(const Classify&) = 0;
  virtual void run(const SumColumns&) = 0;
  virtual void run(const AddUp&) = 0;
  virtual void run(const SgdUpdate&) = 0;
  virtual void run(const AdamUpdate&) = 0;
  /// ++*counter, after what was asked before.
  virtual void advance(std::uint32_t* counter) = 0;

  /// Calls `operations` and records what it runs, instead of running it. Null: this device does not
  /// record, and `operations` was not called.
  [[nodiscard]] virtual std::unique_ptr<Recording> record(
      const std::function<void()>& operations) = 0;
};

/// An array in a device's memory.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(Device& device, std::size_t size)
      : device_(&device),
        size_(size),
        data_(size == 0 ? nullptr : static_cast<T*>(device.allocate(size * sizeof(T)))) {}
  DeviceArray(DeviceArray&& other) noexcept
      : device_(other.device_),
        size_(std::exchange(other.size_, 0)),
        data_(std::exchange(other.data_, nullptr)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    return *this;
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() {
    if (data_ != nullptr) device_->release(data_);
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The first values.size() elements. @pre they fit
  void upload(std::span<const T> values) {
    if (!values.empty()) device_->upload(data_, values.data(), values.size_bytes());
  }
  [[nodiscard]] std::vector<T> download() const {
    std::vector<T> values(size_);
    if (size_ > 0) device_->download(values.data(), data_, size_ * sizeof(T));
    return values;
  }

 private:
  Device* device_ = nullptr;
  std::size_t size_ = 0;
  T* data_ = nullptr;
};

}  // namespace tune::trainables
