#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <tune/error.hpp>

#include "core/checkpoint_manifest.hpp"
#include "store/arriving_directory.hpp"
#include "store/file_list.hpp"
#include "store/transfer_cursor.hpp"

namespace tune::store {

/// A directory that is to come from another machine.
struct TransferOrder {
  std::filesystem::path experiment;  ///< Where it goes; absolute.
  std::string directory;             ///< Within it; see is_served_directory().
  std::uint32_t incarnation = 0;
  core::SharedManifest manifest = {};  ///< What must arrive; null: whatever the other side has.
  std::uint32_t piece_bytes = store::piece_bytes;
  std::uint32_t hash_block_bytes = store::hash_block_bytes;
};

// What is asked of the other side; each is to be answered once, in any order.

/// The entries of the directory from `from` on.
struct AskEntries {
  std::uint64_t from = 0;
};
struct AskBytes {
  FilePiece piece;
};
struct AskHash {
  FilePiece block;
};
using TransferQuestion = std::variant<AskEntries, AskBytes, AskHash>;

/// The receiving end of one transfer: which questions it has, and what becomes of the answers. It
/// believes nothing that it is told: what does not fit ends it with an error that names the file
/// and the reason. What has arrived then stays there for another transfer with the same incarnation
/// to go on with, unless abandon() is called.
class DirectoryTransfer {
 public:
  explicit DirectoryTransfer(TransferOrder order);

  /// Whether the directory is in its place already, with the content of the manifest. Reads it.
  [[nodiscard]] bool is_in_place() const;

  /// Nothing while all that can be asked for now has been.
  [[nodiscard]] std::optional<TransferQuestion> next_question();
  /// Of an entry of the list, for a question.
  [[nodiscard]] const std::string& file_path(std::uint32_t file) const;

  [[nodiscard]] Expected<void> on_entries(std::vector<FileEntry> entries,
                                          std::uint64_t all_entries);
  [[nodiscard]] Expected<void> on_bytes(const FilePiece& piece, std::vector<char> bytes);
  [[nodiscard]] Expected<void> on_hash(const FilePiece& block, const std::string& hash);

  /// The directory has its name.
  [[nodiscard]] bool is_complete() const { return stage_ == Stage::complete; }
  /// Of what is in its place now. @pre is_complete()
  [[nodiscard]] const core::CheckpointManifest& manifest() const { return arrived_; }
  [[nodiscard]] std::uint64_t moved_bytes() const { return moved_bytes_; }
  /// Removes what has arrived.
  void abandon();

 private:
  enum class Stage : std::uint8_t {
    listing,
    checking,  // what a transfer before left
    moving,
    comparing,  // all of it with the other side's, for want of a manifest
    complete
  };
  [[nodiscard]] Expected<void> open();
  [[nodiscard]] Expected<void> go_on();
  [[nodiscard]] Expected<void> begin_to_move();
  [[nodiscard]] Expected<void> commit();
  [[nodiscard]] std::vector<std::uint64_t> sizes_bytes() const;

  TransferOrder order_;
  Stage stage_ = Stage::listing;
  FileList list_;  // while it is listed
  bool asks_for_entries_ = false;
  std::optional<ArrivingDirectory> arriving_;
  std::optional<PrefixChecks> checks_;
  std::optional<TransferCursor> cursor_;
  core::CheckpointManifest arrived_;
  std::uint64_t moved_bytes_ = 0;
};

}  // namespace tune::store
