#include "runtime/trial_packages.hpp"

#include <cstddef>
#include <system_error>
#include <utility>

#include <caf/all.hpp>

#include "actor_faults.hpp"

namespace tune::runtime {

PackerActor::behavior_type pack_trials(PackerActor::pointer self,
                                       const std::filesystem::path& experiment) {
  watch_for_faults(self);
  return {
      [=](const PackTrial& order) {
        auto packed = store::pack_trial(experiment / order.trial_name, order.package, order.before,
                                        order.takes_files);
        if (!packed) return TrialPacked{{}, packed.error()};
        return TrialPacked{*packed};
      },
      [=](const PackWorker& order) {
        auto packed = store::pack_worker(experiment / order.trial_name, order.package, order.rank);
        return packed ? TrialPacked{*packed} : TrialPacked{{}, packed.error()};
      },
      [](const RemoveDirectory& order) {
        std::error_code ignored;  // it costs room here, until the node ends
        std::filesystem::remove_all(order.path, ignored);
      },
  };
}

bool is_package(const std::string& directory) {
  const std::size_t slash = directory.find('/');
  return slash != std::string::npos && directory.find('/', slash + 1) == std::string::npos &&
         directory.compare(slash + 1, store::package_prefix.size(), store::package_prefix) == 0;
}

UnpackerActor::behavior_type unpack_trials(UnpackerActor::pointer self,
                                           const std::filesystem::path& experiment) {
  watch_for_faults(self);
  return {
      [=](const UnpackTrial& order) {
        const std::filesystem::path package = experiment / order.directory;
        const auto unpacked =
            store::unpack_trial(package.parent_path(), package.filename().string());
        return TrialUnpacked{unpacked ? std::nullopt : std::optional(unpacked.error())};
      },
  };
}

}  // namespace tune::runtime
