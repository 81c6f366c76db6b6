#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "store/journal.hpp"
#include "store/journal_reader.hpp"

namespace tune::test {

inline store::ExperimentRow sample_experiment() {
  return {.name = "sample",
          .experiment_id = "5a3c",
          .objective = Objective{.metric = "loss", .mode = Mode::min},
          .seed = 0xFEDC'BA98'7654'3210,
          .definition = Json{{"trainable", "mlp"}, {"seed", 7}}};
}

inline std::string trial_name(TrialId id) { return "0000" + std::to_string(id.value()); }

inline void add_sample_trial(store::Journal& journal, TrialId id) {
  journal.add_trial(id, trial_name(id), Config(Json{{"lr", 0.1}}), 0);
}

inline Result sample_result(std::int64_t iteration, double loss) {
  Result result;
  result.metrics = {{"loss", loss}};
  result.training_iteration = iteration;
  result.time_this_iter_s = 1;
  result.time_total_s = static_cast<double>(iteration);
  result.timestamp = 1.7e9;
  return result;
}

/// An event that brings a result of trial 0.
inline void add_sample_event(store::Journal& journal, store::EventNumber number,
                             std::int64_t iteration) {
  journal.add({.number = number,
               .time_s = 0.5,
               .kind = "result",
               .trial = TrialId(0),
               .incarnation = 1,
               .sequence = static_cast<std::uint64_t>(number)});
  journal.add_result({.trial = TrialId(0),
                      .incarnation = 1,
                      .result = sample_result(iteration, 1.0 / static_cast<double>(number)),
                      .reported_done = false,
                      .event = number});
}

/// How many events there are; -1 if they and their results are not those that were put in.
inline std::int64_t count_whole_events(const store::JournalReader& reader) {
  std::int64_t count = 0;
  bool is_whole = true;
  reader.for_each_event([&](const store::RecordedEvent& event) {
    ++count;
    is_whole = is_whole && event.row.number == count && event.result &&
               event.result->result.metrics.at("loss") == 1.0 / static_cast<double>(count);
  });
  return is_whole ? count : -1;
}

inline std::vector<std::int64_t> iterations_of(const store::JournalReader& reader, TrialId id) {
  std::vector<std::int64_t> iterations;
  reader.for_each_result(id, [&](const store::LineResult& line) {
    iterations.push_back(line.result.training_iteration);
  });
  return iterations;
}

inline std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void set_file_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The text of the JournalError that `call` throws; empty if none.
template <class Call>
std::string journal_error_of(Call call) {
  try {
    call();
  } catch (const store::JournalError& error) {
    return error.what();
  }
  return {};
}

}  // namespace tune::test
