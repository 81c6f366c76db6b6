#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <tune/error.hpp>

#include "store/trial_package.hpp"

/// The actors of both ends of a package; see store/trial_package.hpp. They wait for the disk: spawn
/// them detached. Their messages stay within the process.
namespace tune::runtime {

/// See store::pack_trial().
struct PackTrial {
  std::string trial_name;
  std::string package;
  store::OutputRead before;
  bool takes_files = false;
};
/// See store::pack_worker().
struct PackWorker {
  std::string trial_name;
  std::string package;
  std::size_t rank = 0;
};
struct TrialPacked {
  store::PackedTrial packed;
  std::optional<Error> error = {};
};
/// With all that is in it, as far as that can be.
struct RemoveDirectory {
  std::filesystem::path path;
};
using PackerActor = caf::typed_actor<caf::replies_to<PackTrial>::with<TrialPacked>,
                                     caf::replies_to<PackWorker>::with<TrialPacked>,
                                     caf::reacts_to<RemoveDirectory>>;

/// The body of a node's actor, for the trials below `experiment` there.
PackerActor::behavior_type pack_trials(PackerActor::pointer self,
                                       const std::filesystem::path& experiment);

/// See store::unpack_trial().
struct UnpackTrial {
  std::string directory;  ///< "00003_x=1/outgoing_1_2"
};
struct TrialUnpacked {
  std::optional<Error> error = {};
};
using UnpackerActor = caf::typed_actor<caf::replies_to<UnpackTrial>::with<TrialUnpacked>>;

/// Whether what a node delivers is a package.
[[nodiscard]] bool is_package(const std::string& directory);

/// The body of the driver's actor.
UnpackerActor::behavior_type unpack_trials(UnpackerActor::pointer self,
                                           const std::filesystem::path& experiment);

}  // namespace tune::runtime

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::PackTrial)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::PackWorker)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::TrialPacked)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::RemoveDirectory)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::UnpackTrial)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::TrialUnpacked)
