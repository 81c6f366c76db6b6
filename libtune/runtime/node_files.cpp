#include "runtime/node_files.hpp"

#include <cstddef>
#include <memory>
#include <utility>
#include <variant>

#include <caf/all.hpp>

namespace tune::runtime {
namespace {

/// Tries of a transfer that the other side left without an answer.
constexpr int most_attempts = 3;

std::string place_of(const std::string& trial, const std::string& directory) {
  return trial + "/" + directory;
}

std::uint64_t size_of(const core::SharedManifest& files) {
  return files ? core::total_size_bytes(*files) : 0;
}

/// What a launch waits for.
struct Wanted {
  std::string directory;
  core::SharedManifest files;
  bool is_checkpoint = false;
};

std::vector<Wanted> wanted_by(const engine::Launch& launch) {
  std::vector<Wanted> wanted;
  if (launch.checkpoint) {
    wanted.push_back({place_of(launch.checkpoint->trial_name, launch.checkpoint->directory_name),
                      launch.checkpoint_files, true});
  }
  for (const engine::SavedValue& saved : launch.saves) {
    // Later ones make way for the first result.
    if (saved.directory_name.empty() || saved.index > launch.start_iteration) continue;
    wanted.push_back({place_of(launch.trial_name, saved.directory_name), saved.files, false});
  }
  return wanted;
}

/// All that one launch waits for together.
struct Bringing {
  std::size_t left = 0;
  std::optional<Error> fault;
};

}  // namespace

NodeFiles::NodeFiles(AgentActor::pointer agent, NodeFilesSetup setup)
    : agent_(agent), setup_(std::move(setup)), kept_(setup_.most_kept_bytes) {
  for (const KeptDirectory& kept : setup_.kept) {
    kept_.use(kept.directory);
    kept_.release(kept.directory, kept.size_bytes);
  }
  remove_surplus();
}

NodeFiles::Trial* NodeFiles::find(TrialId id, std::uint32_t incarnation) {
  const auto found = trials_.find(id);
  if (found == trials_.end() || found->second.incarnation != incarnation) return nullptr;
  return &found->second;
}

void NodeFiles::use(Trial& trial, const std::string& directory) {
  if (trial.used.try_emplace(directory, 0).second) kept_.use(directory);
}

void NodeFiles::release_all(TrialId id) {
  const auto found = trials_.find(id);
  if (found == trials_.end()) return;
  for (const auto& [directory, size_bytes] : found->second.used) {
    kept_.release(directory, size_bytes);
  }
  trials_.erase(found);
  remove_surplus();
}

// By the fetcher, so that a launch which wants one of them after this has it fetched anew.
void NodeFiles::remove_surplus() {
  for (std::string& directory : kept_.take_surplus()) {
    agent_->send(setup_.fetcher, RemoveFetched{std::move(directory)});
  }
}

void NodeFiles::forget(const engine::CheckpointLocation& checkpoint) {
  kept_.forget(place_of(checkpoint.trial_name, checkpoint.directory_name));
}

void NodeFiles::take_from(const FileServerActor& driver_files) {
  setup_.driver_files = driver_files;
}

// ---- To the node ----

void NodeFiles::bring(const engine::Launch& launch, Done done) {
  release_all(launch.trial);
  Trial& trial = trials_[launch.trial];
  trial.name = launch.trial_name;
  trial.incarnation = launch.incarnation;
  const std::vector<Wanted> all = wanted_by(launch);
  if (all.empty()) return done(std::nullopt);
  const auto bringing = std::make_shared<Bringing>(Bringing{all.size(), {}});  // the answers'
  for (const Wanted& wanted : all) use(trial, wanted.directory);
  for (const Wanted& wanted : all) {
    fetch(wanted.directory, wanted.files,
          [=, this, id = launch.trial, incarnation = launch.incarnation,
           is_checkpoint = wanted.is_checkpoint](const DirectoryFetched& fetched) {
            // A value whose files are gone is told to who asks for it.
            const bool counts = is_checkpoint || fetched.can_go_on;
            if (counts && !bringing->fault) bringing->fault = fault_of(fetched);
            Trial* found = find(id, incarnation);
            if (found != nullptr) found->used[fetched.directory] = size_of(fetched.manifest);
            if (--bringing->left > 0) return;
            if (bringing->fault) release_all(id);
            done(bringing->fault);
          });
  }
}

void NodeFiles::fetch(const std::string& directory, const core::SharedManifest& files,
                      Fetched then) {
  std::vector<Fetched>& waiting = fetches_[directory];
  waiting.push_back(std::move(then));
  if (waiting.size() == 1) ask(directory, files, most_attempts);
}

void NodeFiles::ask(const std::string& directory, const core::SharedManifest& files, int attempts) {
  agent_
      ->request(setup_.fetcher, caf::infinite,
                FetchDirectory{setup_.driver_files, directory, brought_incarnation, files})
      .then(
          [=, this](const DirectoryFetched& fetched) {
            if (fetched.can_go_on && attempts > 1) return ask(directory, files, attempts - 1);
            give_out(fetched);
          },
          [=, this](const caf::error& error) {
            DirectoryFetched fetched{.directory = directory};
            fetched.error = Error{ErrorCode::io, agent_->system().render(error)};
            give_out(fetched);
          });
}

void NodeFiles::give_out(const DirectoryFetched& fetched) {
  const auto waiting = fetches_.extract(fetched.directory);
  if (waiting.empty()) return;
  for (const Fetched& then : waiting.mapped()) then(fetched);
}

std::optional<Error> NodeFiles::fault_of(const DirectoryFetched& fetched) const {
  if (!fetched.error) return std::nullopt;
  const bool is_gone = fetched.error->code == ErrorCode::not_found;
  return Error{is_gone ? ErrorCode::damaged : fetched.error->code,
               "node " + setup_.node_name + ": " + fetched.error->message};
}

// ---- To the driver ----

void NodeFiles::deliver(const engine::TrialMessage& message, Done done) {
  Trial* trial = find(message.trial, message.incarnation);
  if (trial == nullptr) return done(std::nullopt);
  if (std::holds_alternative<engine::Ended>(message.report)) {
    trial->end = std::move(done);
    if (!trial->is_packing) pack(message.trial, *trial, /*is_end=*/true);
    return;
  }
  FilesReady files{.directory = {}, .incarnation = message.incarnation};
  const auto* const saved = std::get_if<engine::Saved>(&message.report);
  if (saved != nullptr) {
    files.directory = place_of(trial->name, saved->saved.directory_name);
    files.files = saved->saved.files;
    use(*trial, files.directory);  // as long as it runs it may load that
    trial->used[files.directory] = size_of(files.files);
    return send(std::move(files), std::move(done));
  }
  const auto& stored = std::get<engine::CheckpointStored>(message.report);
  files.directory = place_of(trial->name, stored.directory_name);
  files.files = stored.files;
  kept_.use(files.directory);
  send(files, [this, done = std::move(done), directory = files.directory,
               size_bytes = size_of(files.files)](const std::optional<Error>& fault) {
    kept_.release(directory, size_bytes);
    remove_surplus();
    done(fault);
  });
  if (!trial->is_packing) pack(message.trial, *trial, /*is_end=*/false);
}

void NodeFiles::send(FilesReady files, Done done) {
  agent_->request(setup_.link, caf::infinite, std::move(files))
      .then(
          [done](const FilesTaken& taken) {
            done(taken.fault.empty() ? std::nullopt
                                     : std::optional(Error{ErrorCode::io, taken.fault}));
          },
          [this, done](const caf::error& error) {
            done(Error{ErrorCode::io, agent_->system().render(error)});
          });
}

void NodeFiles::pack(TrialId id, Trial& trial, bool is_end) {
  trial.is_packing = true;
  const std::uint32_t incarnation = trial.incarnation;
  const std::string package = std::string(store::package_prefix) + std::to_string(incarnation) +
                              "_" + std::to_string(++trial.packages);
  agent_->request(setup_.packer, caf::infinite, PackTrial{trial.name, package, trial.read, is_end})
      .then([=, this](
                const TrialPacked& answer) { on_packed(id, incarnation, package, is_end, answer); },
            [=, this](const caf::error& error) {
              on_packed(id, incarnation, package, is_end,
                        {{}, Error{ErrorCode::io, agent_->system().render(error)}});
            });
}

void NodeFiles::on_packed(TrialId id, std::uint32_t incarnation, const std::string& package,
                          bool is_end, const TrialPacked& answer) {
  Trial* trial = find(id, incarnation);
  if (trial == nullptr) return;
  const std::string directory = place_of(trial->name, package);
  const RemoveDirectory removal{setup_.experiment / directory};
  if (answer.error) {
    agent_->send(setup_.packer, removal);
    return on_delivered(id, incarnation, is_end, packing_fault(trial->name, *answer.error));
  }
  if (answer.packed.is_empty) return on_delivered(id, incarnation, is_end, std::nullopt);
  send({.directory = directory, .incarnation = incarnation},
       [=, this, read = answer.packed.read](const std::optional<Error>& fault) {
         agent_->send(setup_.packer, removal);
         Trial* found = find(id, incarnation);
         if (found != nullptr && !fault) found->read = read;
         on_delivered(id, incarnation, is_end, fault);
       });
}

Error NodeFiles::packing_fault(const std::string& trial_name, const Error& error) const {
  return {error.code, "node " + setup_.node_name + ": cannot send what trial " + trial_name +
                          " wrote: " + error.message};
}

void NodeFiles::deliver_worker(const std::string& trial_name, std::uint32_t incarnation,
                               std::size_t rank, Done done) {
  const std::string package = std::string(store::package_prefix) + std::to_string(incarnation) +
                              "_worker_" + std::to_string(rank);
  const std::string directory = place_of(trial_name, package);
  agent_->request(setup_.packer, caf::infinite, PackWorker{trial_name, package, rank})
      .then(
          [=, this](const TrialPacked& answer) {
            if (answer.error) return done(packing_fault(trial_name, *answer.error));
            if (answer.packed.is_empty) return done(std::nullopt);
            send({.directory = directory, .incarnation = incarnation},
                 [=, this](const std::optional<Error>& fault) {
                   agent_->send(setup_.packer, RemoveDirectory{setup_.experiment / directory});
                   done(fault);
                 });
          },
          [=, this](const caf::error& error) {
            done(packing_fault(trial_name, {ErrorCode::io, agent_->system().render(error)}));
          });
}

// What did not get through on the way is tried again with the next checkpoint, or at the end.
void NodeFiles::on_delivered(TrialId id, std::uint32_t incarnation, bool is_end,
                             const std::optional<Error>& fault) {
  Trial* trial = find(id, incarnation);
  if (trial == nullptr) return;
  trial->is_packing = false;
  if (!trial->end) return;
  if (!is_end) return pack(id, *trial, /*is_end=*/true);
  const Done done = std::move(trial->end);
  release_all(id);
  done(fault);
}

}  // namespace tune::runtime
