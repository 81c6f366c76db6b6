#include "policy_files.hpp"

#include <string>
#include <utility>

#include "report/file_pool.hpp"

namespace tune::report {

namespace {

void write_or_remove(const std::filesystem::path& path, const std::string& text) {
  if (text.empty()) {
    std::filesystem::remove(path);
  } else {
    write_file(path, text);
  }
}

}  // namespace

void PolicyFiles::write_global() const {
  write_or_remove(experiment_ / global_policy_file, history_.global_text());
}

void PolicyFiles::write_policy(TrialId trial) const {
  write_or_remove(experiment_ / policy_file_name(trial), history_.policy_text(trial));
}

void PolicyFiles::restore(ExploitHistory history) {
  history_ = std::move(history);
  write_global();
  for (const TrialId trial : history_.trials()) write_policy(trial);
}

void PolicyFiles::add(const core::Exploit& exploit) {
  if (history_.add(exploit) == 0) {
    append_to_file(experiment_ / global_policy_file, ExploitHistory::line_text(exploit));
  } else {
    write_global();  // it has taken the place of others
  }
  write_policy(exploit.trial);
}

void PolicyFiles::drop(TrialId trial, std::uint64_t kept) {
  history_.drop(trial, kept);
  write_global();
  write_policy(trial);
}

}  // namespace tune::report
