#include "gang_plan.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "core/resources_json.hpp"

namespace tune::engine {
namespace {

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
/// Of the search for another order; the same for a full cluster as for an empty one, so that what
/// counts as feasible is found once all is free.
constexpr int most_steps = 2000;

class GangPlan {
 public:
  GangPlan(const ResourceRequest& request, std::vector<Site> sites, const ResourceAmounts& largest)
      : request_(request), original_(sites), sites_(std::move(sites)), largest_(largest) {
    parts_.push_back(&request.own);
    for (const BundleRequest& worker : request.workers) parts_.push_back(&worker);
    planned_.assign(parts_.size(), {nowhere, {}});
    order_.resize(parts_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    // The large ones first: small ones find a gap later.
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return is_larger(*parts_[a], *parts_[b]);
    });
  }

  std::optional<std::vector<PlannedPart>> make() {
    if (!is_enough_in_all() || !is_planned()) return std::nullopt;
    return std::move(planned_);
  }

 private:
  bool is_planned() {
    switch (request_.strategy) {
      case GangStrategy::strict_spread:
        return match();
      case GangStrategy::strict_pack:
        return pack_on_one();
      case GangStrategy::pack:
        return pack_on_one() || pack() || search_all();
      case GangStrategy::spread:
        return spread() || search_all();
    }
    return false;
  }

  static bool is_larger(const BundleRequest& a, const BundleRequest& b) {
    const std::int64_t gpus_a = a.amounts.amount("gpu");
    const std::int64_t gpus_b = b.amounts.amount("gpu");
    if (gpus_a != gpus_b) return gpus_a > gpus_b;
    if (a.labels.size() != b.labels.size()) return a.labels.size() > b.labels.size();
    return a.amounts.amount("cpu") > b.amounts.amount("cpu");
  }

  [[nodiscard]] bool is_enough_in_all() const {
    ResourceAmounts all;
    for (const Site& site : sites_) all += site.room.amounts;
    return all.covers(request_.total());
  }

  [[nodiscard]] bool has_labels(const Site& site, std::size_t part) const {
    return core::has_labels(*site.labels, parts_[part]->labels);
  }
  [[nodiscard]] bool fits(const Site& site, std::size_t part) const {
    return has_labels(site, part) && site.room.fit(parts_[part]->amounts).has_value();
  }

  void put(std::size_t part, std::size_t at, std::vector<int> gpu_ids) {
    sites_[at].room.take({parts_[part]->amounts, gpu_ids});
    ++sites_[at].parts;
    planned_[part] = {at, std::move(gpu_ids)};
  }

  /// Puts there what lies nowhere yet and finds room: how many.
  std::size_t fill(std::size_t at) {
    std::size_t count = 0;
    for (const std::size_t part : order_) {
      if (planned_[part].site != nowhere || !has_labels(sites_[at], part)) continue;
      auto gpu_ids = sites_[at].room.fit(parts_[part]->amounts);
      if (!gpu_ids) continue;
      put(part, at, *std::move(gpu_ids));
      ++count;
    }
    return count;
  }

  /// As fill(), but nothing has changed after it.
  std::size_t count_fill(std::size_t at) {
    const Site site = sites_[at];
    const std::vector<PlannedPart> planned = planned_;
    const std::size_t count = fill(at);
    sites_[at] = site;
    planned_ = planned;
    return count;
  }

  void reset() {
    sites_ = original_;
    planned_.assign(parts_.size(), {nowhere, {}});
  }

  bool pack_on_one() {
    const ResourceAmounts total = request_.total();
    std::vector<std::pair<Fitness, std::size_t>> choices;
    for (std::size_t at = 0; at < sites_.size(); ++at) {
      const Site& site = sites_[at];
      if (!site.room.amounts.covers(total)) continue;
      choices.emplace_back(whole_fitness(site, total), at);
    }
    std::sort(choices.begin(), choices.end());
    for (const auto& [fit, at] : choices) {
      if (count_fill(at) == parts_.size()) {
        fill(at);
        return true;
      }
      if (search({at})) return true;
    }
    return false;
  }

  // Of devices it counts what stays free in all.
  [[nodiscard]] Fitness whole_fitness(const Site& site, const ResourceAmounts& total) const {
    BundleRequest all{total};
    all.amounts.set("gpu", 0);
    Fitness fit = fitness(site.room, *site.labels, all, largest_);
    if (total.amount("gpu") > 0) --fit.unasked;
    fit.device_rest = site.room.amounts.amount("gpu") - total.amount("gpu");
    return fit;
  }

  bool pack() {
    for (std::size_t left = parts_.size(); left > 0;) {
      std::size_t best = 0;
      std::size_t most = 0;
      for (std::size_t at = 0; at < sites_.size(); ++at) {
        if (sites_[at].parts > 0) continue;
        const std::size_t count = count_fill(at);
        if (count > most) {
          most = count;
          best = at;
        }
      }
      if (most == 0) {
        reset();
        return false;
      }
      left -= fill(best);
    }
    return true;
  }

  bool spread() {
    for (const std::size_t part : order_) {
      const std::optional<std::size_t> at = emptiest(part);
      if (!at) {
        reset();
        return false;
      }
      put(part, *at, *sites_[*at].room.fit(parts_[part]->amounts));
    }
    return true;
  }

  std::optional<std::size_t> emptiest(std::size_t part) const {
    std::optional<std::size_t> best;
    std::pair<std::size_t, Fitness> best_key;
    for (std::size_t at = 0; at < sites_.size(); ++at) {
      const Site& site = sites_[at];
      if ((best && site.parts > best_key.first) || !fits(site, part)) continue;
      const std::pair key(site.parts, fitness(site.room, *site.labels, *parts_[part], largest_));
      if (best && !(key < best_key)) continue;
      best = at;
      best_key = key;
    }
    return best;
  }

  // --- each on a site of its own: augmenting paths

  bool match() {
    std::vector<std::size_t> part_at(sites_.size(), nowhere);
    for (const std::size_t part : order_) {
      std::vector<bool> seen(sites_.size(), false);
      if (!augment(part, part_at, seen)) return false;
    }
    for (std::size_t at = 0; at < sites_.size(); ++at) {
      const std::size_t part = part_at[at];
      if (part != nowhere) put(part, at, *sites_[at].room.fit(parts_[part]->amounts));
    }
    return true;
  }

  bool augment(std::size_t part, std::vector<std::size_t>& part_at, std::vector<bool>& seen) {
    std::vector<std::pair<Fitness, std::size_t>> choices;
    for (std::size_t at = 0; at < sites_.size(); ++at) {
      const Site& site = sites_[at];
      if (seen[at] || !fits(site, part)) continue;
      choices.emplace_back(fitness(site.room, *site.labels, *parts_[part], largest_), at);
    }
    std::sort(choices.begin(), choices.end());
    for (const auto& [fit, at] : choices) {
      if (part_at[at] == nowhere) {
        part_at[at] = part;
        return true;
      }
    }
    for (const auto& [fit, at] : choices) {
      if (seen[at]) continue;
      seen[at] = true;
      if (!augment(part_at[at], part_at, seen)) continue;
      part_at[at] = part;
      return true;
    }
    return false;
  }

  // --- other orders

  bool search_all() {
    std::vector<std::size_t> all(sites_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return search(all);
  }

  bool search(const std::vector<std::size_t>& among) {
    steps_ = 0;
    return search_from(0, among);
  }

  bool search_from(std::size_t next, const std::vector<std::size_t>& among) {
    if (next == order_.size()) return true;
    const std::size_t part = order_[next];
    for (std::size_t i = 0; i < among.size(); ++i) {
      if (++steps_ > most_steps) return false;
      Site& site = sites_[among[i]];
      if (!has_labels(site, part) || is_like_an_earlier(among, i)) continue;
      for (std::vector<int>& gpu_ids : device_choices(site.room, parts_[part]->amounts)) {
        const Site before = site;
        put(part, among[i], std::move(gpu_ids));
        if (search_from(next + 1, among)) return true;
        site = before;
        planned_[part] = {nowhere, {}};
      }
    }
    return false;
  }

  [[nodiscard]] bool is_like_an_earlier(const std::vector<std::size_t>& among,
                                        std::size_t i) const {
    const Site& site = sites_[among[i]];
    return std::any_of(
        among.begin(), among.begin() + static_cast<std::ptrdiff_t>(i), [&](std::size_t other) {
          return sites_[other].room == site.room && *sites_[other].labels == *site.labels;
        });
  }

  /// Of a fraction each device that has enough, of several that have as much the first one.
  static std::vector<std::vector<int>> device_choices(const Room& room,
                                                      const ResourceAmounts& amounts) {
    auto best = room.fit(amounts);
    if (!best) return {};
    const std::int64_t gpu = amounts.amount("gpu");
    std::vector<std::vector<int>> choices{*best};
    if (gpu == 0 || gpu % 1000 == 0) return choices;
    std::set<std::int64_t> seen{room.devices[static_cast<std::size_t>(best->front())]};
    for (std::size_t i = 0; i < room.devices.size(); ++i) {
      if (room.devices[i] < gpu || !seen.insert(room.devices[i]).second) continue;
      choices.push_back({static_cast<int>(i)});
    }
    return choices;
  }

  const ResourceRequest& request_;
  const std::vector<Site> original_;
  std::vector<Site> sites_;
  const ResourceAmounts& largest_;
  std::vector<const BundleRequest*> parts_;
  std::vector<std::size_t> order_;  // of trying
  std::vector<PlannedPart> planned_;
  int steps_ = 0;
};

}  // namespace

std::optional<std::vector<PlannedPart>> plan_gang(const ResourceRequest& request,
                                                  std::vector<Site> sites,
                                                  const ResourceAmounts& largest) {
  return GangPlan(request, std::move(sites), largest).make();
}

}  // namespace tune::engine
