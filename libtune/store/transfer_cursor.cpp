#include "store/transfer_cursor.hpp"

#include <algorithm>
#include <utility>

#include <tune/error.hpp>

namespace tune::store {

TransferCursor::TransferCursor(std::vector<std::uint64_t> sizes_bytes,
                               std::vector<std::uint64_t> present_bytes, std::uint32_t piece_bytes)
    : sizes_bytes_(std::move(sizes_bytes)),
      asked_bytes_(std::move(present_bytes)),
      piece_bytes_(piece_bytes) {
  TUNE_ASSERT(sizes_bytes_.size() == asked_bytes_.size());
  TUNE_ASSERT(piece_bytes_ > 0);
  for (std::size_t i = 0; i < sizes_bytes_.size(); ++i) {
    TUNE_ASSERT(asked_bytes_[i] <= sizes_bytes_[i]);
    missing_bytes_ += sizes_bytes_[i] - asked_bytes_[i];
  }
}

std::optional<FilePiece> TransferCursor::next() {
  while (file_ < sizes_bytes_.size() && asked_bytes_[file_] == sizes_bytes_[file_]) ++file_;
  if (file_ == sizes_bytes_.size()) return std::nullopt;
  std::uint64_t& asked = asked_bytes_[file_];
  const std::uint64_t left = sizes_bytes_[file_] - asked;
  const FilePiece piece{file_, asked,
                        static_cast<std::uint32_t>(std::min<std::uint64_t>(piece_bytes_, left))};
  asked += piece.size_bytes;
  asked_.emplace(piece, std::nullopt);
  return piece;
}

std::vector<TransferCursor::Arrival> TransferCursor::arrive(const FilePiece& piece,
                                                            std::vector<char> bytes) {
  const auto found = asked_.find(piece);
  if (found == asked_.end() || found->second || bytes.size() != piece.size_bytes) return {};
  found->second = std::move(bytes);
  std::vector<Arrival> arrivals;
  auto first = asked_.lower_bound(FilePiece{piece.file, 0, 0});
  while (first != asked_.end() && first->first.file == piece.file && first->second) {
    missing_bytes_ -= first->first.size_bytes;
    arrivals.push_back({first->first, std::move(*first->second)});
    first = asked_.erase(first);
  }
  return arrivals;
}

PrefixChecks::PrefixChecks(std::vector<std::uint64_t> present_bytes, std::uint32_t block_bytes)
    : right_bytes_(std::move(present_bytes)), block_bytes_(block_bytes) {
  TUNE_ASSERT(block_bytes_ > 0);
  skip_checked();
}

std::optional<FilePiece> PrefixChecks::next() {
  if (!is_left()) return std::nullopt;
  const std::uint64_t left = right_bytes_[file_] - offset_;
  const FilePiece block{static_cast<std::uint32_t>(file_), offset_,
                        static_cast<std::uint32_t>(std::min<std::uint64_t>(block_bytes_, left))};
  offset_ += block.size_bytes;
  ++asked_;
  skip_checked();
  return block;
}

void PrefixChecks::answer(const FilePiece& block, bool is_same) {
  ++answered_;
  if (is_same) return;
  std::uint64_t& right = right_bytes_[block.file];
  right = std::min(right, block.offset);
  skip_checked();
}

void PrefixChecks::skip_checked() {
  while (is_left() && offset_ >= right_bytes_[file_]) {
    ++file_;
    offset_ = 0;
  }
}

}  // namespace tune::store
