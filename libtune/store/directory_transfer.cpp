#include "store/directory_transfer.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "checkpoint_files.hpp"

namespace tune::store {
namespace {

Error unfit(std::string what) { return {ErrorCode::damaged, std::move(what)}; }

}  // namespace

DirectoryTransfer::DirectoryTransfer(TransferOrder order) : order_(std::move(order)) {}

bool DirectoryTransfer::is_in_place() const {
  if (!order_.manifest) return false;
  const std::filesystem::path target = order_.experiment / order_.directory;
  std::error_code error;
  if (!std::filesystem::is_directory(std::filesystem::symlink_status(target, error))) return false;
  return compare_files(target, *order_.manifest).has_value();
}

std::optional<TransferQuestion> DirectoryTransfer::next_question() {
  switch (stage_) {
    case Stage::listing:
      if (std::exchange(asks_for_entries_, true)) return std::nullopt;
      return AskEntries{list_.size()};
    case Stage::checking:
    case Stage::comparing:
      if (const auto block = checks_->next()) return AskHash{*block};
      return std::nullopt;
    case Stage::moving:
      if (const auto piece = cursor_->next()) return AskBytes{*piece};
      return std::nullopt;
    case Stage::complete:
      break;
  }
  return std::nullopt;
}

const std::string& DirectoryTransfer::file_path(std::uint32_t file) const {
  return arriving_.value().list()[file].path;
}

Expected<void> DirectoryTransfer::on_entries(std::vector<FileEntry> entries,
                                             std::uint64_t all_entries) {
  TUNE_ASSERT(stage_ == Stage::listing && asks_for_entries_);
  asks_for_entries_ = false;
  const std::uint64_t listed = list_.size() + entries.size();
  if (all_entries > most_entries || listed > all_entries ||
      (entries.empty() && listed < all_entries)) {
    return unfit("the other side lists " + std::to_string(entries.size()) + " entries after " +
                 std::to_string(list_.size()) + " of " + std::to_string(all_entries) +
                 ", at most " + std::to_string(most_entries) + " are allowed");
  }
  std::move(entries.begin(), entries.end(), std::back_inserter(list_));
  if (listed < all_entries) return {};
  return open();
}

Expected<void> DirectoryTransfer::open() {
  if (const auto checked = check_file_list(list_); !checked) return checked;
  if (order_.manifest) {
    auto chosen = choose_listed(std::move(list_), *order_.manifest);
    if (!chosen) return chosen.error();
    list_ = std::move(*chosen);
  }
  auto arriving = ArrivingDirectory::open(order_.experiment, order_.directory, order_.incarnation,
                                          std::move(list_), order_.manifest);
  if (!arriving) return arriving.error();
  arriving_.emplace(std::move(*arriving));
  checks_.emplace(arriving_->doubtful_bytes(), order_.hash_block_bytes);
  stage_ = Stage::checking;
  return go_on();
}

Expected<void> DirectoryTransfer::on_hash(const FilePiece& block, const std::string& hash) {
  TUNE_ASSERT(stage_ == Stage::checking || stage_ == Stage::comparing);
  const auto own = arriving_->hash(block);
  if (!own) return own.error();
  if (stage_ == Stage::comparing && *own != hash) {
    return unfit(file_path(block.file) + ": " + std::to_string(block.size_bytes) +
                 " bytes at byte " + std::to_string(block.offset) + " have hash " + *own +
                 ", want " + hash);
  }
  checks_->answer(block, *own == hash);
  return go_on();
}

Expected<void> DirectoryTransfer::on_bytes(const FilePiece& piece, std::vector<char> bytes) {
  TUNE_ASSERT(stage_ == Stage::moving);
  if (bytes.size() != piece.size_bytes) {
    return unfit(file_path(piece.file) + ": the other side sent " + std::to_string(bytes.size()) +
                 " bytes at byte " + std::to_string(piece.offset) + ", want " +
                 std::to_string(piece.size_bytes));
  }
  moved_bytes_ += bytes.size();
  for (const TransferCursor::Arrival& arrival : cursor_->arrive(piece, std::move(bytes))) {
    const auto written = arriving_->append(arrival.piece, arrival.bytes);
    if (!written) return written;
  }
  return go_on();
}

Expected<void> DirectoryTransfer::go_on() {
  if (stage_ == Stage::checking && checks_->is_complete()) {
    if (const auto begun = begin_to_move(); !begun) return begun;
  }
  if (stage_ == Stage::moving && cursor_->is_complete()) {
    if (order_.manifest) return commit();
    checks_.emplace(sizes_bytes(), order_.hash_block_bytes);
    stage_ = Stage::comparing;
  }
  if (stage_ == Stage::comparing && checks_->is_complete()) return commit();
  return {};
}

Expected<void> DirectoryTransfer::begin_to_move() {
  std::vector<std::uint64_t> present = arriving_->right_bytes();
  for (std::uint32_t i = 0; i < present.size(); ++i) {
    const std::uint64_t right = checks_->right_bytes()[i];
    if (right < arriving_->doubtful_bytes()[i]) {
      if (const auto cut = arriving_->keep(i, right); !cut) return cut;
    }
    present[i] = std::max(present[i], right);
  }
  cursor_.emplace(sizes_bytes(), std::move(present), order_.piece_bytes);
  stage_ = Stage::moving;
  return {};
}

Expected<void> DirectoryTransfer::commit() {
  auto manifest = arriving_->commit();
  if (!manifest) return manifest.error();
  arrived_ = std::move(*manifest);
  stage_ = Stage::complete;
  return {};
}

std::vector<std::uint64_t> DirectoryTransfer::sizes_bytes() const {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(arriving_->list().size());
  for (const FileEntry& entry : arriving_->list()) {
    sizes.push_back(entry.kind == EntryKind::file ? entry.size_bytes : 0);
  }
  return sizes;
}

void DirectoryTransfer::abandon() {
  if (arriving_) arriving_->remove();
}

}  // namespace tune::store
