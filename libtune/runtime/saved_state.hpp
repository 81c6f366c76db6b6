#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tune/json.hpp>
#include <tune/track.hpp>

#include "engine/commands.hpp"
#include "engine/saved_values.hpp"
#include "store/checkpoint_store.hpp"

namespace tune::runtime {

/// The values that one start of a trial has saved, and those that it was given.
class SavedState {
 public:
  /// The text of a value may be so long, and those of the newest values of all names together.
  static constexpr std::uint64_t max_value_bytes = std::uint64_t{1} << 20U;
  static constexpr std::uint64_t max_total_bytes = std::uint64_t{8} << 20U;

  /// `checkpoints_kept`: to so many the trial may go back.
  SavedState(const engine::Launch& launch, std::int64_t checkpoints_kept);

  /// Removes what an earlier start left behind without saying so.
  void clean(const store::CheckpointStore& store) const;
  /// Keeps a value; its files first, if there is a `writer`, whose exceptions pass through.
  /// @throws std::invalid_argument naming the name, the size and what is allowed;
  /// std::runtime_error with the path if the files cannot be written
  [[nodiscard]] engine::SavedValue save(const std::string& name, const Json& value,
                                        std::int64_t index, const track::Writer& writer,
                                        const store::CheckpointStore& store);
  /// The newest value of a name, and its files as they were written.
  /// @throws std::runtime_error if they are not so any more
  [[nodiscard]] std::optional<track::Saved> load(const std::string& name,
                                                 const store::CheckpointStore& store) const;
  void note_checkpoint(std::int64_t iteration);
  /// Drops what was saved after that iteration.
  void go_back(std::int64_t iteration);

 private:
  [[nodiscard]] std::string new_directory_name(const std::string& name, std::int64_t index);

  std::string trial_name_;
  std::uint32_t incarnation_;
  std::size_t checkpoints_kept_;
  engine::SavedValues values_;
  std::set<std::string> on_record_;       // directories of values before this start
  std::vector<std::int64_t> iterations_;  // to which the trial may go back, oldest first
  std::map<std::string, std::int64_t> last_written_;  // the largest index of each name's files
  std::int64_t repeats_ = 0;                          // that went behind it
};

}  // namespace tune::runtime
