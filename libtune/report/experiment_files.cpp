#include "experiment_files.hpp"

#include <string>
#include <system_error>

#include <tune/mode.hpp>

#include "report/file_pool.hpp"

namespace tune::report {
namespace {

constexpr const char* error_file = "error.txt";

}  // namespace

Json experiment_json(const ExperimentInfo& info, const std::optional<ExperimentEnd>& end) {
  Json json = {{"name", info.name}, {"experiment_id", info.experiment_id},
               {"seed", info.seed}, {"metric", nullptr},
               {"mode", nullptr},   {"definition", info.definition}};
  if (info.objective) {
    json["metric"] = info.objective->metric;
    json["mode"] = to_string(info.objective->mode);
  }
  if (end) {
    json["end"] = {{"reason", end->reason},
                   {"error", end->error},
                   {"interrupted", end->interrupted},
                   {"terminated_trials", end->terminated_trials},
                   {"failed_trials", end->failed_trials},
                   {"unfinished_trials", end->unfinished_trials}};
  }
  return json;
}

void write_experiment_file(const ExperimentInfo& info, const std::optional<ExperimentEnd>& end) {
  const Json json = experiment_json(info, end);
  write_file(info.path / "experiment.json",
             json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
}

void append_failed_start(const std::filesystem::path& trial, std::uint32_t incarnation,
                         std::int64_t training_iteration, std::string_view error) {
  std::filesystem::create_directories(trial);  // it may have failed before its first start
  std::string text = "start " + std::to_string(incarnation) + " failed after iteration " +
                     std::to_string(training_iteration) + ":\n";
  text += error;
  append_to_file(trial / error_file, text += "\n\n");
}

void restore_failed_start(const std::filesystem::path& trial, std::uint32_t incarnation,
                          std::int64_t training_iteration, std::string_view error) {
  std::error_code ignored;  // if it cannot be looked at, writing says why
  const auto size_bytes = std::filesystem::file_size(trial / error_file, ignored);
  if (!ignored && size_bytes > 0) return;
  append_failed_start(trial, incarnation, training_iteration, error);
}

}  // namespace tune::report
