#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/file_transfer.hpp"
#include "runtime/kept_directories.hpp"
#include "runtime/messages.hpp"
#include "runtime/node_messages.hpp"
#include "runtime/travelling_files.hpp"
#include "runtime/trial_packages.hpp"

namespace tune::runtime {

/// Of all that is brought to a node: no name ever means two checkpoints, so any start of a trial
/// goes on with what has arrived for another one.
inline constexpr std::uint32_t brought_incarnation = 0;

struct NodeFilesSetup {
  std::filesystem::path experiment;  ///< Of the node's own; absolute.
  FileServerActor driver_files;
  FetcherActor fetcher;
  PackerActor packer;
  NodeLinkActor link;
  std::string node_name = {};  ///< For errors.
  std::uint64_t most_kept_bytes = 0;
  std::vector<KeptDirectory> kept = {};  ///< From before.
};

/// Has the node's fetcher bring what trials go on from, and the driver fetch what they store and
/// print; and keeps a bounded part of what was here.
class NodeFiles final : public TravellingFiles {
 public:
  NodeFiles(AgentActor::pointer agent, NodeFilesSetup setup);

  void bring(const engine::Launch& launch, Done done) override;
  void deliver(const engine::TrialMessage& message, Done done) override;
  void deliver_worker(const std::string& trial_name, std::uint32_t incarnation, std::size_t rank,
                      Done done) override;
  void take_from(const FileServerActor& driver_files) override;
  void forget(const engine::CheckpointLocation& checkpoint) override;

 private:
  using Fetched = std::function<void(const DirectoryFetched&)>;
  struct Trial {
    std::string name;
    std::uint32_t incarnation = 0;
    std::map<std::string, std::uint64_t> used;  // directories, and their sizes
    store::OutputRead read;                     // of what it printed: is at the driver
    int packages = 0;
    bool is_packing = false;
    Done end = {};  // waits for the package before; empty: the trial runs
  };

  [[nodiscard]] Trial* find(TrialId id, std::uint32_t incarnation);
  void use(Trial& trial, const std::string& directory);
  /// Its end here.
  void release_all(TrialId id);
  void remove_surplus();
  void fetch(const std::string& directory, const core::SharedManifest& files, Fetched then);
  void ask(const std::string& directory, const core::SharedManifest& files, int attempts);
  void give_out(const DirectoryFetched& fetched);
  [[nodiscard]] std::optional<Error> fault_of(const DirectoryFetched& fetched) const;
  void send(FilesReady files, Done done);
  [[nodiscard]] Error packing_fault(const std::string& trial_name, const Error& error) const;
  /// What the trial has printed since the last time; `is_end`: and what it wrote.
  void pack(TrialId id, Trial& trial, bool is_end);
  void on_packed(TrialId id, std::uint32_t incarnation, const std::string& package, bool is_end,
                 const TrialPacked& answer);
  void on_delivered(TrialId id, std::uint32_t incarnation, bool is_end,
                    const std::optional<Error>& fault);

  AgentActor::pointer agent_;
  NodeFilesSetup setup_;
  KeptDirectories kept_;
  std::map<TrialId, Trial> trials_;
  std::map<std::string, std::vector<Fetched>> fetches_;  // who waits for each directory
};

}  // namespace tune::runtime
