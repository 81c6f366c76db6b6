#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <tune/error.hpp>

#include "core/checkpoint_manifest.hpp"
#include "runtime/transfer_messages.hpp"
#include "store/transfer_cursor.hpp"

/// Directories go from one machine to another: one has a file server, the other a fetcher, which
/// asks for piece after piece. So the one who writes decides how much is on its way.
namespace tune::runtime {

// ---- Who has files ----

// CAF's actor system does not end while a message on its way to another machine holds on to a
// detached actor. So those that wait for the disk send none: they have another one do that, which
// ends before them. Whoever started one of these tells it to end, and waits for that.

/// The body of an actor that reads an experiment's files for others.
FileServerActor::behavior_type serve_files(FileServerActor::pointer self,
                                           const std::filesystem::path& experiment);

// ---- Who wants them; these messages stay within the process ----

/// Get `directory` of the experiment, here and there of the same name. A transfer that broke off,
/// and is asked for again with the same incarnation, goes on where it was.
struct FetchDirectory {
  FileServerActor from;
  std::string directory;  ///< "00003_x=1/checkpoint_000006"; see store::is_served_directory().
  std::uint32_t incarnation = 0;
  core::SharedManifest manifest = {};  ///< What must arrive; null: whatever the other side has.
};
/// Stop fetching it, and remove what has arrived, of a transfer that broke off too.
/// What was fetched, or lies where it would be, is of no use any more. In order with
/// FetchDirectory: what is asked for after this is fetched anew.
struct RemoveFetched {
  std::string directory;
};
struct CancelFetch {
  std::string directory;
};
/// How it ended.
struct DirectoryFetched {
  std::string directory = {};
  std::uint32_t incarnation = 0;
  core::SharedManifest manifest = {};  ///< Of what is in its place now; null: nothing, see `error`.
  std::uint64_t moved_bytes = 0;       ///< That were sent for it.
  std::optional<Error> error = {};     ///< Names the trial, the file and the reason.
  bool can_go_on = false;              ///< The other side was lost: what has arrived is kept.
};
using FetcherActor = caf::typed_actor<caf::replies_to<FetchDirectory>::with<DirectoryFetched>,
                                      caf::reacts_to<CancelFetch>, caf::reacts_to<RemoveFetched>>;

struct FetcherOptions {
  std::filesystem::path experiment = {};  ///< Where directories go; absolute.
  std::uint32_t piece_bytes = store::piece_bytes;
  std::uint32_t hash_block_bytes = store::hash_block_bytes;
  /// Questions to one other side that may be without an answer at once, in all its transfers: what
  /// is behind them on the connection waits for no more than that many pieces.
  std::uint32_t questions_at_once = 4;
  std::uint32_t transfers_at_once = 4;  ///< With one other side; the others wait their turn.
  std::chrono::seconds answer_timeout{60};
};

/// The body of an actor that gets directories from other machines. It waits for the disk: spawn it
/// detached. What is in its place already, as the manifest says, is not sent again. Memory is
/// bounded by what is on its way, whatever the files' sizes; transfers take turns, piece by piece.
FetcherActor::behavior_type fetch_files(FetcherActor::pointer self, FetcherOptions options);

}  // namespace tune::runtime

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::FetchDirectory)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::CancelFetch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::RemoveFetched)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::DirectoryFetched)
