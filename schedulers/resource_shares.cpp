#include "schedulers/resource_shares.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

namespace tune::schedulers {
namespace {

constexpr std::int64_t whole_gpu = 1000;
constexpr std::int64_t most_amount = std::numeric_limits<std::int64_t>::max();

/// A node that is being filled in thought. Of a device that is lost in part nothing counts.
struct NodeRoom {
  explicit NodeRoom(const ResourceAmounts& capacity)
      : free(capacity),
        devices(static_cast<std::size_t>(capacity.amount("gpu") / whole_gpu), whole_gpu) {}

  bool place(const ResourceAmounts& request) {
    if (!free.covers(request)) return false;
    const std::int64_t gpu = request.amount("gpu");
    const std::int64_t each = std::min(gpu, whole_gpu);
    std::vector<std::size_t> taken;
    for (std::size_t i = 0;
         i < devices.size() && static_cast<std::int64_t>(taken.size()) * each < gpu; ++i) {
      if (devices[i] >= each) taken.push_back(i);
    }
    if (static_cast<std::int64_t>(taken.size()) * each < gpu) return false;
    for (const std::size_t i : taken) devices[i] -= each;
    free -= request;
    return true;
  }

  ResourceAmounts free;
  std::vector<std::int64_t> devices;  // thousandths of each GPU that are free
};

bool do_all_fit(const std::map<NodeId, ResourceAmounts>& nodes,
                const std::vector<ResourceAmounts>& requests, std::int64_t times) {
  std::vector<NodeRoom> rooms;
  for (const auto& [id, capacity] : nodes) rooms.emplace_back(capacity);
  return std::all_of(requests.begin(), requests.end(), [&](const ResourceAmounts& request) {
    const ResourceAmounts wanted = multiplied(request, times);
    return is_grantable(wanted) && std::any_of(rooms.begin(), rooms.end(),
                                               [&](NodeRoom& room) { return room.place(wanted); });
  });
}

// What all nodes together could bear, wherever it lies.
std::int64_t upper_bound(const std::map<NodeId, ResourceAmounts>& nodes,
                         const std::vector<ResourceAmounts>& requests) {
  ResourceAmounts offered;
  ResourceAmounts asked;
  for (const auto& [id, capacity] : nodes) offered += capacity;
  for (const ResourceAmounts& request : requests) asked += request;
  std::int64_t bound = most_amount;
  for (const auto& [name, amount] : asked.amounts()) {
    bound = std::min(bound, offered.amount(name) / amount);
  }
  return asked.amounts().empty() ? 1 : bound;
}

}  // namespace

ResourceAmounts multiplied(const ResourceAmounts& amounts, std::int64_t times) {
  ResourceAmounts product;
  for (const auto& [name, amount] : amounts.amounts()) product.set(name, amount * times);
  return product;
}

bool is_grantable(const ResourceAmounts& amounts) {
  const std::int64_t gpu = amounts.amount("gpu");
  return gpu <= whole_gpu || gpu % whole_gpu == 0;
}

Resources request_for(const ResourceAmounts& amounts) {
  Resources request{.cpu = 0};
  for (const auto& [name, amount] : amounts.amounts()) {
    const double thousandths = static_cast<double>(amount) / 1000;
    if (name == "cpu") {
      request.cpu = thousandths;
    } else if (name == "gpu") {
      request.gpu = thousandths;
    } else if (name == "memory") {
      request.memory = static_cast<std::uint64_t>(amount);
    } else {
      request.custom[name] = thousandths;
    }
  }
  return request;
}

bool fits_somewhere(const std::map<NodeId, ResourceAmounts>& nodes,
                    const ResourceAmounts& request) {
  return do_all_fit(nodes, {request}, 1);
}

std::int64_t equal_share(const std::map<NodeId, ResourceAmounts>& nodes,
                         const std::vector<ResourceAmounts>& requests, std::int64_t most) {
  std::int64_t share = std::min(most, upper_bound(nodes, requests));
  while (share > 1 && !do_all_fit(nodes, requests, share)) --share;
  return std::max<std::int64_t>(share, 1);
}

}  // namespace tune::schedulers
