#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include <tune/ids.hpp>

#include "trial_record.hpp"

namespace tune::engine {

/// The live trials, in the order of their ids. Every event looks one up, and most have long left
/// the cache by then: so their places stand in a list by id, as ids count from 0. It costs eight
/// bytes for a trial that has ended.
class TrialRecords {
 public:
  /// Null if it is not live.
  [[nodiscard]] TrialRecord* find(TrialId id) const {
    return id.value() < places_.size() ? places_[id.value()] : nullptr;
  }
  [[nodiscard]] TrialRecord& at(TrialId id) { return records_.at(id); }
  TrialRecord& add(TrialId id, TrialRecord record) {
    TrialRecord& added = records_.emplace(id, std::move(record)).first->second;
    if (id.value() >= places_.size()) places_.resize(id.value() + 1);
    places_[id.value()] = &added;
    return added;
  }
  void erase(TrialId id) {
    if (records_.erase(id) > 0) places_[id.value()] = nullptr;
  }

  [[nodiscard]] bool empty() const { return records_.empty(); }
  [[nodiscard]] std::size_t size() const { return records_.size(); }
  [[nodiscard]] auto begin() { return records_.begin(); }
  [[nodiscard]] auto end() { return records_.end(); }
  [[nodiscard]] auto begin() const { return records_.begin(); }
  [[nodiscard]] auto end() const { return records_.end(); }

 private:
  std::map<TrialId, TrialRecord> records_;
  std::vector<TrialRecord*> places_;  // nodes of a map stay where they are
};

}  // namespace tune::engine
