#include "room.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace tune::engine {
namespace {

constexpr std::int64_t whole_device = 1000;

/// What each device of a grant gives to it.
std::int64_t share_of(const ResourceAmounts& amounts) {
  return std::min(amounts.amount("gpu"), whole_device);
}

/// The device with the least that is enough; -1 if there is none.
int tightest_device(const std::vector<std::int64_t>& devices, std::int64_t wanted) {
  int best = -1;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i] < wanted) continue;
    if (best < 0 || devices[i] < devices[static_cast<std::size_t>(best)]) {
      best = static_cast<int>(i);
    }
  }
  return best;
}

std::int64_t rest_of_devices(const Room& room, std::int64_t gpu) {
  if (gpu == 0) return 0;
  if (gpu < whole_device) {
    return room.devices[static_cast<std::size_t>(tightest_device(room.devices, gpu))] - gpu;
  }
  return std::count(room.devices.begin(), room.devices.end(), whole_device) - gpu / whole_device;
}

}  // namespace

Room::Room(const ResourceAmounts& offered)
    : amounts(offered),
      devices(static_cast<std::size_t>(offered.amount("gpu") / whole_device), whole_device) {}

std::optional<std::vector<int>> Room::fit(const ResourceAmounts& request) const {
  if (!amounts.covers(request)) return std::nullopt;
  std::vector<int> chosen;
  const std::int64_t gpu = request.amount("gpu");
  if (gpu == 0) return chosen;
  if (gpu < whole_device) {
    const int device = tightest_device(devices, gpu);
    if (device < 0) return std::nullopt;
    chosen.push_back(device);
    return chosen;
  }
  const std::int64_t wanted = gpu / whole_device;
  for (std::size_t i = 0; i < devices.size() && std::ssize(chosen) < wanted; ++i) {
    if (devices[i] == whole_device) chosen.push_back(static_cast<int>(i));
  }
  if (std::ssize(chosen) < wanted) return std::nullopt;
  return chosen;
}

bool Room::has(const ResourceGrant& grant) const {
  const std::int64_t share = share_of(grant.amounts);
  return amounts.covers(grant.amounts) &&
         std::all_of(grant.gpu_ids.begin(), grant.gpu_ids.end(), [&](int device) {
           const auto place = static_cast<std::size_t>(device);
           return place < devices.size() && devices[place] >= share;
         });
}

void Room::take(const ResourceGrant& grant) {
  amounts -= grant.amounts;
  for (const int device : grant.gpu_ids) {
    devices[static_cast<std::size_t>(device)] -= share_of(grant.amounts);
  }
}

void Room::give_back(const ResourceGrant& grant) {
  amounts += grant.amounts;
  for (const int device : grant.gpu_ids) {
    devices[static_cast<std::size_t>(device)] += share_of(grant.amounts);
  }
}

Fitness fitness(const Room& room, const Labels& labels, const BundleRequest& request,
                const ResourceAmounts& largest) {
  Fitness fit;
  fit.unasked = std::ssize(labels) - std::ssize(request.labels);
  for (const auto& [name, amount] : room.amounts.amounts()) {
    const std::int64_t wanted = request.amounts.amount(name);
    // Every trial has some use for cores and memory.
    if (wanted == 0 && name != "cpu" && name != "memory") ++fit.unasked;
    const double share =
        static_cast<double>(amount - wanted) / static_cast<double>(largest.amount(name));
    fit.rest += static_cast<std::int64_t>(share * 1'000'000);
  }
  fit.device_rest = rest_of_devices(room, request.amounts.amount("gpu"));
  return fit;
}

}  // namespace tune::engine
