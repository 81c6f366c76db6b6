#pragma once

#include <functional>
#include <map>
#include <string>

#include "runtime/file_transfer.hpp"
#include "runtime/node_messages.hpp"
#include "runtime/trial_packages.hpp"

namespace tune::runtime {

/// The driver's actors for files, shared by all its nodes.
struct FileActors {
  FileServerActor server;
  FetcherActor fetcher;
  UnpackerActor unpacker;
};

/// Has what one node has ready fetched to the driver's disk. What fails is tried again a few times,
/// after a while. Part of the actor that stands for the node.
class FileDeliveries {
 public:
  using Done = std::function<void(const FilesTaken& taken)>;

  /// `node`: its name, for errors.
  FileDeliveries(RemoteNodeActor::pointer self, FileActors actors, std::string node);

  /// `done` is called once, later, unless all is cancelled before.
  void take(const FileServerActor& from, FilesReady files, Done done);
  /// When a DeliveryDue comes back.
  void go_on(const std::string& directory);
  /// The node is lost: nothing that is on its way counts any more.
  void cancel();

 private:
  struct Delivery {
    FileServerActor from;
    FilesReady files;
    Done done;
    int failures = 0;
  };

  [[nodiscard]] Delivery* find(const std::string& directory);
  void fetch(const Delivery& delivery);
  void unpack(const std::string& directory);
  void fail(const std::string& directory, const Error& error);
  void end(const std::string& directory, const std::string& fault);

  RemoteNodeActor::pointer self_;
  FileActors actors_;
  std::string node_;
  std::map<std::string, Delivery> deliveries_;
};

}  // namespace tune::runtime
