#include "runtime/file_deliveries.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include <caf/all.hpp>

namespace tune::runtime {
namespace {

/// Before the first new try; it doubles each time.
constexpr std::chrono::seconds first_delivery_pause{1};
constexpr int most_new_tries = 3;

}  // namespace

FileDeliveries::FileDeliveries(RemoteNodeActor::pointer self, FileActors actors, std::string node)
    : self_(self), actors_(std::move(actors)), node_(std::move(node)) {}

FileDeliveries::Delivery* FileDeliveries::find(const std::string& directory) {
  const auto found = deliveries_.find(directory);
  return found == deliveries_.end() ? nullptr : &found->second;
}

void FileDeliveries::take(const FileServerActor& from, FilesReady files, Done done) {
  const std::string directory = files.directory;
  if (!from || !actors_.fetcher) return done({directory, "the driver takes no files of this node"});
  const auto [found, is_new] =
      deliveries_.insert_or_assign(directory, Delivery{from, std::move(files), std::move(done)});
  fetch(found->second);
}

void FileDeliveries::fetch(const Delivery& delivery) {
  const std::string& directory = delivery.files.directory;
  self_
      ->request(actors_.fetcher, caf::infinite,
                FetchDirectory{delivery.from, directory, delivery.files.incarnation,
                               delivery.files.files})
      .then(
          [this, directory](const DirectoryFetched& fetched) {
            if (find(directory) == nullptr) return;
            if (fetched.error) return fail(directory, *fetched.error);
            is_package(directory) ? unpack(directory) : end(directory, {});
          },
          [this, directory](const caf::error& error) {
            fail(directory, {ErrorCode::io, self_->system().render(error)});
          });
}

void FileDeliveries::unpack(const std::string& directory) {
  self_->request(actors_.unpacker, caf::infinite, UnpackTrial{directory})
      .then(
          [this, directory](const TrialUnpacked& unpacked) {
            end(directory, unpacked.error ? node_ + ": " + unpacked.error->message : "");
          },
          [this, directory](const caf::error& error) {
            end(directory, self_->system().render(error));
          });
}

void FileDeliveries::fail(const std::string& directory, const Error& error) {
  Delivery* const delivery = find(directory);
  if (delivery == nullptr) return;
  if (error.code == ErrorCode::io && delivery->failures < most_new_tries) {
    const auto pause = first_delivery_pause * (1 << delivery->failures++);
    return self_->delayed_send(self_, pause, DeliveryDue{directory});
  }
  self_->send(actors_.fetcher, CancelFetch{directory});
  end(directory, "node " + node_ + ": " + error.message);
}

void FileDeliveries::go_on(const std::string& directory) {
  if (const Delivery* const delivery = find(directory)) fetch(*delivery);
}

void FileDeliveries::end(const std::string& directory, const std::string& fault) {
  const auto ended = deliveries_.extract(directory);
  if (!ended.empty()) ended.mapped().done({directory, fault});
}

void FileDeliveries::cancel() {
  for (const auto& [directory, delivery] : std::exchange(deliveries_, {})) {
    self_->send(actors_.fetcher, CancelFetch{directory});
  }
}

}  // namespace tune::runtime
