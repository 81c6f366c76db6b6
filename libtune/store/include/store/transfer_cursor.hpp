#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace tune::store {

/// Bytes of one of the files of a transfer.
struct FilePiece {
  std::uint32_t file = 0;  ///< Its index in the list.
  std::uint64_t offset = 0;
  std::uint32_t size_bytes = 0;
  friend auto operator<=>(const FilePiece&, const FilePiece&) = default;
};

/// The largest piece that is read for another machine at once: far below what holds up a
/// connection.
inline constexpr std::uint32_t piece_bytes = std::uint32_t{1} << 18U;
/// The largest that is hashed for another machine at once: read in a fraction of a second.
inline constexpr std::uint32_t hash_block_bytes = std::uint32_t{1} << 24U;

/// Where a transfer stands: what to ask for next, and what of that may be appended to its file.
///
/// Pieces are asked for in order, and may arrive in any. A file is only ever appended to, so that
/// its length alone says how far it came. What waits for its turn is never more than what was asked
/// for.
class TransferCursor {
 public:
  struct Arrival {
    FilePiece piece;
    std::vector<char> bytes;
  };

  /// `present_bytes`: how much of the beginning of each file need not travel, at most its size.
  TransferCursor(std::vector<std::uint64_t> sizes_bytes, std::vector<std::uint64_t> present_bytes,
                 std::uint32_t piece_bytes);

  /// What to ask for now; nothing once all is asked for.
  [[nodiscard]] std::optional<FilePiece> next();
  /// What may be appended now that `bytes` came, in order. Nothing comes of a piece that was not
  /// asked for, came before, or has another size.
  [[nodiscard]] std::vector<Arrival> arrive(const FilePiece& piece, std::vector<char> bytes);
  /// All that was missing has been given out by arrive().
  [[nodiscard]] bool is_complete() const { return missing_bytes_ == 0; }
  [[nodiscard]] std::uint64_t missing_bytes() const { return missing_bytes_; }

 private:
  std::vector<std::uint64_t> sizes_bytes_;
  std::vector<std::uint64_t> asked_bytes_;  // of each file, with what is present
  std::uint32_t piece_bytes_;
  std::uint32_t file_ = 0;  // the first that may have something to ask for
  std::uint64_t missing_bytes_ = 0;
  std::map<FilePiece, std::optional<std::vector<char>>> asked_;  // those that were not given out
};

/// Which beginnings of files, left by a transfer that broke off, are those of the source: each is
/// compared block by block.
class PrefixChecks {
 public:
  /// `present_bytes`: of each file, what is to be checked.
  PrefixChecks(std::vector<std::uint64_t> present_bytes, std::uint32_t block_bytes);

  /// What to compare now; nothing once all is asked for.
  [[nodiscard]] std::optional<FilePiece> next();
  void answer(const FilePiece& block, bool is_same);
  [[nodiscard]] bool is_complete() const { return answered_ == asked_ && !is_left(); }
  /// How much of each file is right. @pre is_complete()
  [[nodiscard]] const std::vector<std::uint64_t>& right_bytes() const { return right_bytes_; }

 private:
  [[nodiscard]] bool is_left() const { return file_ < right_bytes_.size(); }
  void skip_checked();

  std::vector<std::uint64_t> right_bytes_;  // as far as is known
  std::uint32_t block_bytes_;
  std::size_t file_ = 0;  // where next() goes on, and
  std::uint64_t offset_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t answered_ = 0;
};

}  // namespace tune::store
