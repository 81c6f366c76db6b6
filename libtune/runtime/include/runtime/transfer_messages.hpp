#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <caf/actor_system_config.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <tune/error.hpp>

#include "store/file_list.hpp"

/// What one machine asks another for files. These cross the wire; each answer is small, and an
/// error of read_error().
namespace tune::store {

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, FileEntry& x) {
  return f(caf::meta::type_name("tune::FileEntry"), x.path, x.kind, x.size_bytes, x.is_executable,
           x.target);
}

}  // namespace tune::store

namespace tune::runtime {

/// What is in a directory, from entry `from` on.
struct ListDirectory {
  std::string directory;  ///< Below the experiment's: "00003_x=1/checkpoint_000006".
  std::uint64_t from = 0;
};
struct DirectoryPage {
  std::vector<store::FileEntry> entries;  ///< At least one, unless there are no more.
  std::uint64_t all_entries = 0;          ///< How many the directory has.
};

struct ReadPiece {
  std::string directory;
  std::string file;
  std::uint64_t offset = 0;
  std::uint32_t size_bytes = 0;
};
struct PieceRead {
  std::vector<char> bytes;
};

struct HashPiece {
  std::string directory;
  std::string file;
  std::uint64_t offset = 0;
  std::uint32_t size_bytes = 0;
};
struct PieceHash {
  std::string hash;
};

/// Whoever has files.
using FileServerActor = caf::typed_actor<caf::replies_to<ListDirectory>::with<DirectoryPage>,
                                         caf::replies_to<ReadPiece>::with<PieceRead>,
                                         caf::replies_to<HashPiece>::with<PieceHash>>;

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ListDirectory& x) {
  return f(caf::meta::type_name("tune::ListDirectory"), x.directory, x.from);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, DirectoryPage& x) {
  return f(caf::meta::type_name("tune::DirectoryPage"), x.entries, x.all_entries);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ReadPiece& x) {
  return f(caf::meta::type_name("tune::ReadPiece"), x.directory, x.file, x.offset, x.size_bytes);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, PieceRead& x) {
  return f(caf::meta::type_name("tune::PieceRead"), x.bytes);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, HashPiece& x) {
  return f(caf::meta::type_name("tune::HashPiece"), x.directory, x.file, x.offset, x.size_bytes);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, PieceHash& x) {
  return f(caf::meta::type_name("tune::PieceHash"), x.hash);
}

/// From either side, once, before what may need it: who has the files there.
struct FilesAt {
  FileServerActor server;
};
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, FilesAt& x) {
  return f(caf::meta::type_name("tune::FilesAt"), x.server);
}

/// Lets a system send and receive them.
void add_transfer_messages(caf::actor_system_config& config);

/// An error of ours as CAF carries it from one machine to another, and back. What is an error of
/// CAF's is not ours: read_error() finds no answer in it.
[[nodiscard]] caf::error make_wire_error(const Error& error);
[[nodiscard]] bool is_wire_error(const caf::error& error);
[[nodiscard]] Error read_wire_error(const caf::error& error);

}  // namespace tune::runtime
