#include <sys/wait.h>

#include <cstring>
#include <stdexcept>

#include "guardian_messages.hpp"

namespace tune::runtime {

Json to_json(const GuardianRequest& request) {
  if (const auto* spawn = std::get_if<SpawnRequest>(&request)) {
    return {{"kind", "spawn"},
            {"id", spawn->id},
            {"environment", spawn->bounds.environment},
            {"cores", spawn->bounds.cores},
            {"memory", spawn->bounds.memory}};
  }
  const auto& kill = std::get<KillRequest>(request);
  return {{"kind", "kill"}, {"id", kill.id}, {"signal", kill.signal}};
}

GuardianRequest guardian_request_from_json(const Json& json) {
  if (json.at("kind") == "kill") return KillRequest{json.at("id"), json.at("signal")};
  SpawnRequest spawn;
  json.at("id").get_to(spawn.id);
  json.at("environment").get_to(spawn.bounds.environment);
  json.at("cores").get_to(spawn.bounds.cores);
  json.at("memory").get_to(spawn.bounds.memory);
  return spawn;
}

Json to_json(const GuardianReport& report) {
  if (const auto* spawned = std::get_if<WorkerSpawned>(&report)) {
    return {{"kind", "spawned"}, {"id", spawned->id}, {"pid", spawned->pid}};
  }
  if (const auto* failed = std::get_if<SpawnFailed>(&report)) {
    return {{"kind", "failed"}, {"id", failed->id}, {"error", failed->error}};
  }
  if (const auto* found = std::get_if<MemoryLimitFound>(&report)) {
    return {{"kind", "memory limit"}, {"text", found->text}};
  }
  const auto& exited = std::get<WorkerExited>(report);
  return {{"kind", "exited"},
          {"id", exited.id},
          {"status", exited.status},
          {"memory", static_cast<int>(exited.memory)}};
}

GuardianReport guardian_report_from_json(const Json& json) {
  const auto& kind = json.at("kind").get_ref<const std::string&>();
  if (kind == "spawned") return WorkerSpawned{json.at("id"), json.at("pid")};
  if (kind == "failed") return SpawnFailed{json.at("id"), json.at("error")};
  if (kind == "exited") {
    return WorkerExited{json.at("id"), json.at("status"),
                        static_cast<MemoryEnd>(json.at("memory").get<int>())};
  }
  if (kind == "memory limit") return MemoryLimitFound{json.at("text")};
  throw std::invalid_argument("a guardian's message of unknown kind \"" + kind + "\"");
}

std::string describe_exit(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return "was killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
  }
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace tune::runtime
