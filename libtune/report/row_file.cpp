#include "row_file.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace tune::report {

std::string trial_id_text(TrialId id) {
  std::string text = std::to_string(id.value());
  if (text.size() < 5) text.insert(0, 5 - text.size(), '0');
  return text;
}

void SinceRestore::start(const TrialInfo& trial) {
  time_s_ = 0;
  iterations_ = 0;
  start_iteration_ = trial.start_iteration;
}

void SinceRestore::add(const Result& result) {
  time_s_ += result.time_this_iter_s;
  iterations_ = result.training_iteration - start_iteration_;
}

std::string_view LocalDate::text(std::int64_t seconds_since_1970) {
  if (seconds_since_1970 != seconds_ || text_.empty()) {
    seconds_ = seconds_since_1970;
    const auto time = static_cast<std::time_t>(seconds_since_1970);
    std::tm parts{};
    ::localtime_r(&time, &parts);
    std::array<char, 80> buffer{};
    const std::size_t size =
        std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d_%H-%M-%S", &parts);
    text_.assign(buffer.data(), size);
  }
  return text_;
}

void RowFile::append(std::int64_t training_iteration, const Row& row) {
  if (training_iteration <= last_iteration_) {
    // Rare, so the rows are looked for rather than all their places kept.
    file_->truncate(find_row_(file_->content(), training_iteration));
  }
  last_iteration_ = training_iteration;
  last_row_ = row;
  file_->append(row.text);
}

void RowFile::set_checkpoint(std::int64_t training_iteration, std::string_view name) {
  if (training_iteration != last_iteration_ || training_iteration == 0) return;
  Row row = last_row_;
  row.text.replace(row.checkpoint_begin, row.checkpoint_bytes, name);
  row.checkpoint_bytes = name.size();
  file_->replace_tail(last_row_.text.size(), row.text);
  last_row_ = std::move(row);
}

}  // namespace tune::report
