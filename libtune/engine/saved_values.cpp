#include "engine/saved_values.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tune::engine {
namespace {

bool is_earlier(const SavedValue& value, std::int64_t index) { return value.index < index; }

}  // namespace

std::vector<SavedValue> SavedValues::put(SavedValue value) {
  std::vector<SavedValue>& values = by_name_[value.name];
  const auto place = std::lower_bound(values.begin(), values.end(), value.index, is_earlier);
  std::vector<SavedValue> replaced;
  if (place != values.end() && place->index == value.index) {
    replaced.push_back(std::exchange(*place, std::move(value)));
  } else {
    values.insert(place, std::move(value));
  }
  return replaced;
}

std::vector<SavedValue> SavedValues::drop_from(std::int64_t index) {
  std::vector<SavedValue> dropped;
  for (auto entry = by_name_.begin(); entry != by_name_.end();) {
    std::vector<SavedValue>& values = entry->second;
    const auto first = std::lower_bound(values.begin(), values.end(), index, is_earlier);
    std::move(first, values.end(), std::back_inserter(dropped));
    values.erase(first, values.end());
    entry = values.empty() ? by_name_.erase(entry) : std::next(entry);
  }
  return dropped;
}

std::vector<SavedValue> SavedValues::keep_for(const std::vector<std::int64_t>& iterations) {
  std::vector<SavedValue> dropped;
  std::uint64_t bytes = 0;
  for (auto& [name, values] : by_name_) {
    std::vector<SavedValue> kept;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_newest = i + 1 == values.size();
      const bool is_needed =
          is_newest || std::any_of(iterations.begin(), iterations.end(), [&](std::int64_t at) {
            return values[i].index <= at && at < values[i + 1].index;
          });
      if (is_needed) bytes += values[i].size_bytes;
      (is_needed ? kept : dropped).push_back(std::move(values[i]));
    }
    values = std::move(kept);
  }
  while (bytes > max_bytes) {
    // The oldest that is not the newest of its name.
    std::vector<SavedValue>* oldest = nullptr;
    for (auto& [name, values] : by_name_) {
      if (values.size() < 2) continue;
      if (oldest == nullptr || values.front().index < oldest->front().index) oldest = &values;
    }
    if (oldest == nullptr) break;
    bytes -= oldest->front().size_bytes;
    dropped.push_back(std::move(oldest->front()));
    oldest->erase(oldest->begin());
  }
  return dropped;
}

const SavedValue* SavedValues::newest(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &found->second.back();
}

std::vector<SavedValue> SavedValues::all() const {
  std::vector<SavedValue> all;
  for (const auto& [name, values] : by_name_) all.insert(all.end(), values.begin(), values.end());
  return all;
}

std::uint64_t SavedValues::newest_bytes_without(const std::string& name) const {
  std::uint64_t bytes = 0;
  for (const auto& [other, values] : by_name_) {
    if (other != name) bytes += values.back().size_bytes;
  }
  return bytes;
}

}  // namespace tune::engine
