#include "definition_check.hpp"

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <tune/init.hpp>

#include "cluster_tls.hpp"
#include "core/number_text.hpp"
#include "engine/placement.hpp"
#include "runtime/cluster_link.hpp"
#include "runtime/host.hpp"

namespace tune::runtime {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw std::invalid_argument(text); }

void check_trainable(const TrainableSpec& trainable) {
  if (trainable.name.empty()) refuse("trainable: it has no name");
  if (static_cast<bool>(trainable.make) == static_cast<bool>(trainable.function)) {
    refuse("trainable " + trainable.name + ": exactly one of make and function must be set");
  }
}

void check_isolation(const TrainableSpec& trainable, const Experiment& experiment) {
  if (experiment.isolation == Isolation::threads) {
    if (experiment.step_timeout.count() > 0) {
      refuse("step_timeout is " + core::number_text(experiment.step_timeout.count()) +
             " s, but on threads a step that hangs cannot be killed: use Isolation::processes");
    }
    return;
  }
  if (trainable.key.empty()) {
    const std::string what = trainable.function ? "train function " : "trainable ";
    refuse(what + trainable.name +
           " is not registered, and has what a worker process cannot be given: register a function "
           "with TUNE_REGISTER_FUNCTION(name), or set isolation to Isolation::threads");
  }
  if (!detail::is_initialised()) {
    refuse(
        "trials run in worker processes, and this program did not call tune::init: let main() "
        "begin with tune::init(argc, argv), or set isolation to Isolation::threads");
  }
}

void check_cluster(const Experiment& experiment) {
  const std::string& listen = experiment.cluster.listen;
  if (listen.empty()) return;
  const std::string what = "cluster.listen " + core::value_text(listen);
  if (experiment.isolation == Isolation::threads) {
    refuse(what + ": nodes run trials in worker processes, and isolation is Isolation::threads");
  }
  HostPort address;
  try {
    address = parse_host_port(listen);
  } catch (const std::invalid_argument& error) {
    refuse(what + ": " + error.what());
  }
  const bool is_encrypted = check_cluster_tls(experiment.cluster);
  if (is_encrypted && experiment.cluster.insecure) {
    refuse("cluster.insecure (--tune-insecure) and cluster.ca (--tune-ca) exclude each other");
  }
  if (!is_encrypted && !experiment.cluster.insecure && !is_loopback(address.host)) {
    refuse(what + ": other machines can reach this address, and whoever does can run code here: " +
           "use 127.0.0.1, or certificates (--tune-ca, --tune-cert and --tune-key), or " +
           "cluster.insecure (--tune-insecure) in a network that you trust");
  }
  // Tried here, and opened once the experiment runs: so what is refused has changed nothing.
  const auto door = Doorkeeper::check(address);
  if (!door) refuse("cluster.listen: " + door.error().message);
}

void check_resume_from(const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return;
  refuse("resume_from " + core::value_text(path) + ": " +
         (error && error != std::errc::no_such_file_or_directory
              ? error.message()
              : std::string("there is no such directory")));
}

}  // namespace

void check_definition(const TrainableSpec& trainable, const Experiment& experiment) {
  check_trainable(trainable);
  check_numbers(experiment);
  engine::check_objectives(experiment);
  check_resume_from(experiment.resume_from);
  engine::check_checkpoints(trainable, experiment);
  check_isolation(trainable, experiment);
  check_cluster(experiment);
}

void check_resources(const Experiment& experiment, const ResourceAmounts& capacity) {
  if (experiment.resources.of) return;  // known only for each configuration
  const ResourceRequest request(experiment.resources);
  if (request.total().amounts().empty() && experiment.max_concurrent == 0) {
    refuse("resources: a trial that asks for nothing needs max_concurrent to be set");
  }
  engine::Placement placement;
  placement.add_node(NodeId{0}, {}, capacity, experiment.local.labels);
  if (placement.is_feasible(request) || !experiment.cluster.listen.empty()) return;
  std::string found = explain_capacity(experiment.local, request.total());
  if (!found.empty()) found = " (found here: " + found + ")";
  refuse("resources: " + placement.explain_infeasible(request) + found +
         "; the experiment's local says what this machine offers");
}

}  // namespace tune::runtime
