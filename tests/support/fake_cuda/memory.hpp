#pragma once

#include <cstddef>
#include <map>

namespace fake_cuda {

/// The memory of all devices: garbage at first, closed to the host, each piece with a page behind
/// it that nobody may touch.
class Memory {
 public:
  /// Of each device: as many MiB as FAKE_CUDA_MIB says, else 8 GiB.
  [[nodiscard]] static std::size_t bytes_of_device();

  /// Null: so much is not free.
  [[nodiscard]] void* allocate(std::size_t bytes, int device);
  /// False: it is none of ours. Aborts if something was written around it.
  [[nodiscard]] bool release(void* memory);
  /// Whether all of it is one device's.
  [[nodiscard]] bool has(const void* memory, std::size_t bytes) const;
  [[nodiscard]] std::size_t used(int device) const;
  [[nodiscard]] std::size_t pieces() const { return pieces_.size(); }

  /// As long as it lives, code can reach what `device` has.
  class Access {
   public:
    Access(const Memory& memory, int device);
    ~Access();
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

   private:
    const Memory& memory_;
    int device_;
  };

 private:
  struct Piece {
    std::byte* pages = nullptr;
    std::size_t page_bytes = 0;
    std::size_t bytes = 0;
    int device = 0;
  };
  static void protect(const Piece& piece, bool is_open);

  std::map<const std::byte*, Piece> pieces_;
};

}  // namespace fake_cuda
