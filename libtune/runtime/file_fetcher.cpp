#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <caf/all.hpp>

#include "actor_faults.hpp"
#include "end_after.hpp"
#include "runtime/file_transfer.hpp"
#include "store/arriving_directory.hpp"
#include "store/directory_transfer.hpp"
#include "store/served_files.hpp"

namespace tune::runtime {
namespace {

using Promise = caf::typed_response_promise<DirectoryFetched>;

/// Passes questions on to other machines.
using CourierActor =
    caf::typed_actor<caf::replies_to<FileServerActor, ListDirectory>::with<DirectoryPage>,
                     caf::replies_to<FileServerActor, ReadPiece>::with<PieceRead>,
                     caf::replies_to<FileServerActor, HashPiece>::with<PieceHash>>;

template <class Answer, class Question>
caf::typed_response_promise<Answer> pass_on(CourierActor::pointer self,
                                            const FileServerActor& server, Question& question,
                                            std::chrono::seconds timeout) {
  auto promise = self->make_response_promise<Answer>();
  self->request(server, timeout, std::move(question))
      .then([promise](Answer& answer) mutable { promise.deliver(std::move(answer)); },
            [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
  return promise;
}

CourierActor::behavior_type carry_questions(CourierActor::pointer self,
                                            std::chrono::seconds timeout) {
  watch_for_faults(self);
  return {
      [=](const FileServerActor& server, ListDirectory& question) {
        return pass_on<DirectoryPage>(self, server, question, timeout);
      },
      [=](const FileServerActor& server, ReadPiece& question) {
        return pass_on<PieceRead>(self, server, question, timeout);
      },
      [=](const FileServerActor& server, HashPiece& question) {
        return pass_on<PieceHash>(self, server, question, timeout);
      },
  };
}

/// "checkpoint_000006 of trial 00003".
std::string shown_directory(const std::string& directory) {
  const std::size_t slash = std::min(directory.find('/'), directory.size());
  const std::string trial = directory.substr(0, slash);
  return directory.substr(std::min(slash + 1, directory.size())) + " of trial " +
         trial.substr(0, trial.find('_'));
}

/// A directory that is on its way, and who waits for it.
class Fetch {
 public:
  Fetch(const FetchDirectory& order, const FetcherOptions& options, Promise promise)
      : incarnation_(order.incarnation),
        directory_(order.directory),
        manifest_(order.manifest),
        promise_(std::move(promise)),
        transfer_({.experiment = options.experiment,
                   .directory = order.directory,
                   .incarnation = order.incarnation,
                   .manifest = order.manifest,
                   .piece_bytes = options.piece_bytes,
                   .hash_block_bytes = options.hash_block_bytes}) {}

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] store::DirectoryTransfer& transfer() { return transfer_; }

  /// Nothing need be sent.
  void end_in_place() { end({.manifest = manifest_}); }
  /// After an answer.
  void go_on(const Expected<void>& answered) {
    if (!answered) return fail(answered.error());
    if (!transfer_.is_complete()) return;
    end({.manifest = std::make_shared<const core::CheckpointManifest>(transfer_.manifest())});
  }
  void fail(const Error& error) {
    transfer_.abandon();
    end({.error = error});
  }
  /// Another one may go on.
  void break_off(const std::string& reason) {
    end({.error = Error{ErrorCode::io, reason}, .can_go_on = true});
  }

 private:
  void end(DirectoryFetched fetched) {
    is_over_ = true;
    fetched.directory = directory_;
    fetched.incarnation = incarnation_;
    fetched.moved_bytes = transfer_.moved_bytes();
    if (fetched.error) {
      fetched.error->message =
          "cannot fetch " + shown_directory(directory_) + ": " + fetched.error->message;
    }
    promise_.deliver(std::move(fetched));
  }

  std::uint32_t incarnation_;
  std::string directory_;
  core::SharedManifest manifest_;  // with whoever asked for it
  Promise promise_;
  store::DirectoryTransfer transfer_;
  bool is_over_ = false;
};
using SharedFetch = std::shared_ptr<Fetch>;  // with the questions that are not answered yet

/// Asks other machines what the transfers want to know, and hands them the answers.
class FileFetcher {
 public:
  FileFetcher(FetcherActor::pointer self, FetcherOptions options)
      : self_(self),
        options_(std::move(options)),
        courier_(self->spawn<caf::linked>(carry_questions, options_.answer_timeout)) {}

  [[nodiscard]] caf::actor_addr courier() const { return courier_.address(); }
  Promise begin(const FetchDirectory& order);
  /// False: it is not on its way.
  bool cancel(const std::string& directory, const std::string& reason);
  /// Nobody will ask for it again.
  void give_up(const std::string& directory);
  void remove(const std::string& directory);
  void on_down(const caf::actor_addr& server);

 private:
  /// One other side.
  struct Peer {
    FileServerActor server;
    std::vector<SharedFetch> fetches;  // in the order in which they came
    std::uint32_t questions = 0;       // without an answer yet
    std::size_t turn = 0;
  };

  void ask(const caf::actor_addr& address);
  /// False: there is nothing to ask now.
  bool ask_for_one(Peer& peer);
  void send(Peer& peer, const SharedFetch& fetch, const store::AskEntries& question);
  void send(Peer& peer, const SharedFetch& fetch, const store::AskBytes& question);
  void send(Peer& peer, const SharedFetch& fetch, const store::AskHash& question);
  /// Sends a question; `take` has the transfer take the answer.
  template <class Answer, class Question, class Take>
  void request(Peer& peer, const SharedFetch& fetch, Question question, Take take);
  void after_answer(const caf::actor_addr& address);
  static void fail(Fetch& fetch, const caf::error& error);

  FetcherActor::pointer self_;
  FetcherOptions options_;
  CourierActor courier_;  // which answers in time
  std::map<caf::actor_addr, Peer> peers_;
};

Promise FileFetcher::begin(const FetchDirectory& order) {
  auto promise = self_->make_response_promise<Promise>();
  (void)cancel(order.directory, "it is fetched anew");
  const auto fetch = std::make_shared<Fetch>(order, options_, promise);
  if (!store::is_served_directory(order.directory)) {
    fetch->fail({ErrorCode::not_found, "want a directory below that of a trial"});
  } else if (fetch->transfer().is_in_place()) {
    fetch->end_in_place();
  } else {
    const caf::actor_addr address = order.from.address();
    Peer& peer = peers_[address];
    if (!peer.server) self_->monitor(order.from);
    peer.server = order.from;
    peer.fetches.push_back(fetch);
    ask(address);
  }
  return promise;
}

bool FileFetcher::cancel(const std::string& directory, const std::string& reason) {
  for (auto& [address, peer] : peers_) {
    for (const SharedFetch& fetch : peer.fetches) {
      if (fetch->is_over() || fetch->directory() != directory) continue;
      fetch->fail({ErrorCode::io, reason});
      ask(caf::actor_addr(address));
      return true;
    }
  }
  return false;
}

void FileFetcher::give_up(const std::string& directory) {
  if (!store::is_served_directory(directory) || cancel(directory, "it was given up")) return;
  store::ArrivingDirectory::remove_all(options_.experiment, directory);
}

// What cannot be removed is in nobody's way: the scratch directory goes with the node.
void FileFetcher::remove(const std::string& directory) {
  if (!store::is_served_directory(directory)) return;
  std::error_code ignored;
  std::filesystem::remove_all(options_.experiment / directory, ignored);
}

void FileFetcher::on_down(const caf::actor_addr& server) {
  const auto found = peers_.find(server);
  if (found == peers_.end()) return;
  for (const SharedFetch& fetch : found->second.fetches) {
    if (!fetch->is_over()) fetch->break_off("the connection to the other side was lost");
  }
  peers_.erase(found);
}

void FileFetcher::ask(const caf::actor_addr& address) {
  const auto found = peers_.find(address);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  std::erase_if(peer.fetches, [](const SharedFetch& fetch) { return fetch->is_over(); });
  if (peer.fetches.empty() && peer.questions == 0) {
    self_->demonitor(address);
    peers_.erase(found);
    return;
  }
  while (peer.questions < options_.questions_at_once && ask_for_one(peer)) {
  }
}

bool FileFetcher::ask_for_one(Peer& peer) {
  const std::size_t count = std::min<std::size_t>(peer.fetches.size(), options_.transfers_at_once);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = (peer.turn + i) % count;
    const SharedFetch fetch = peer.fetches[index];
    const auto question = fetch->transfer().next_question();
    if (!question) continue;
    peer.turn = index + 1;
    std::visit([&](const auto& asked) { send(peer, fetch, asked); }, *question);
    return true;
  }
  return false;
}

void FileFetcher::send(Peer& peer, const SharedFetch& fetch, const store::AskEntries& question) {
  request<DirectoryPage>(peer, fetch, ListDirectory{fetch->directory(), question.from},
                         [](store::DirectoryTransfer& transfer, DirectoryPage& page) {
                           return transfer.on_entries(std::move(page.entries), page.all_entries);
                         });
}

void FileFetcher::send(Peer& peer, const SharedFetch& fetch, const store::AskBytes& question) {
  const store::FilePiece& piece = question.piece;
  request<PieceRead>(peer, fetch,
                     ReadPiece{fetch->directory(), fetch->transfer().file_path(piece.file),
                               piece.offset, piece.size_bytes},
                     [piece](store::DirectoryTransfer& transfer, PieceRead& read) {
                       return transfer.on_bytes(piece, std::move(read.bytes));
                     });
}

void FileFetcher::send(Peer& peer, const SharedFetch& fetch, const store::AskHash& question) {
  const store::FilePiece& block = question.block;
  request<PieceHash>(peer, fetch,
                     HashPiece{fetch->directory(), fetch->transfer().file_path(block.file),
                               block.offset, block.size_bytes},
                     [block](store::DirectoryTransfer& transfer, const PieceHash& piece) {
                       return transfer.on_hash(block, piece.hash);
                     });
}

template <class Answer, class Question, class Take>
void FileFetcher::request(Peer& peer, const SharedFetch& fetch, Question question, Take take) {
  ++peer.questions;
  const caf::actor_addr address = peer.server.address();
  self_->request(courier_, caf::infinite, peer.server, std::move(question))
      .then(
          [this, address, fetch, take](Answer& answer) {
            if (!fetch->is_over()) fetch->go_on(take(fetch->transfer(), answer));
            after_answer(address);
          },
          [this, address, fetch](const caf::error& error) {
            if (!fetch->is_over()) fail(*fetch, error);
            after_answer(address);
          });
}

void FileFetcher::fail(Fetch& fetch, const caf::error& error) {
  if (is_wire_error(error)) return fetch.fail(read_wire_error(error));
  if (error == caf::sec::request_timeout) return fetch.break_off("the other side does not answer");
  fetch.break_off("the connection to the other side was lost");
}

void FileFetcher::after_answer(const caf::actor_addr& address) {
  // The other side may be given up, or be another one by now.
  const auto found = peers_.find(address);
  if (found == peers_.end()) return;
  if (found->second.questions > 0) --found->second.questions;
  ask(address);
}

}  // namespace

FetcherActor::behavior_type fetch_files(FetcherActor::pointer self, FetcherOptions options) {
  watch_for_faults(self);
  const auto fetcher = std::make_shared<FileFetcher>(self, std::move(options));  // this behaviour's
  end_after(self, fetcher->courier());
  self->set_down_handler([fetcher](const caf::down_msg& down) { fetcher->on_down(down.source); });
  return {
      [fetcher](const FetchDirectory& order) { return fetcher->begin(order); },
      [fetcher](const CancelFetch& order) { fetcher->give_up(order.directory); },
      [fetcher](const RemoveFetched& order) { fetcher->remove(order.directory); },
  };
}

}  // namespace tune::runtime
