#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tune/json.hpp>

#include "core/checkpoint_manifest.hpp"

namespace tune::engine {

/// A value that training code saved under a name.
struct SavedValue {
  std::string name;
  std::int64_t index = 0;             ///< How many iterations were reported before it.
  std::shared_ptr<const Json> value;  ///< Shared by all copies, which may be many.
  std::uint64_t size_bytes = 0;       ///< Of its JSON text.
  std::string directory_name = {};    ///< What was written beside it; empty: nothing.
  core::SharedManifest files = {};
};

/// The values of one trial that may still be asked for.
///
/// Of each name the newest is kept, and the one that was the newest at each iteration to which the
/// trial may go back. So there are few; beyond `max_bytes` of text the oldest of those that are not
/// the newest of their name go as well.
class SavedValues {
 public:
  static constexpr std::uint64_t max_bytes = std::uint64_t{16} << 20U;

  // What is no more comes back, for its files.

  /// One of the same name and index makes way.
  [[nodiscard]] std::vector<SavedValue> put(SavedValue value);
  /// Those of this index and later ones.
  [[nodiscard]] std::vector<SavedValue> drop_from(std::int64_t index);
  /// What is not needed at one of these iterations, nor now.
  [[nodiscard]] std::vector<SavedValue> keep_for(const std::vector<std::int64_t>& iterations);

  /// The newest of a name; null if there is none.
  [[nodiscard]] const SavedValue* newest(const std::string& name) const;
  /// By name, and of each the oldest first.
  [[nodiscard]] std::vector<SavedValue> all() const;
  /// Of the newest of all names but this one, together.
  [[nodiscard]] std::uint64_t newest_bytes_without(const std::string& name) const;

 private:
  std::map<std::string, std::vector<SavedValue>> by_name_;  // none empty; by rising index
};

}  // namespace tune::engine
