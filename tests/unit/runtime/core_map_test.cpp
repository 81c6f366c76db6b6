#include "runtime/core_map.hpp"

#include <numeric>
#include <random>
#include <utility>

#include <catch2/catch.hpp>

#include "support/seed.hpp"

namespace tune::runtime {
namespace {

using Cores = std::vector<int>;
using Shares = std::vector<CoreGrant::Share>;

TEST_CASE("whole cores come from entirely free ones, lowest first", "[core_map]") {
  CoreMap map({3, 5, 7});
  CHECK(map.take(2000).cores() == Cores{3, 5});
  CHECK(map.take(1000).cores() == Cores{7});
  CHECK(map.free() == 0);
}

TEST_CASE("a fraction comes from the core with the smallest remainder that suffices",
          "[core_map]") {
  CoreMap map({0, 1, 2});
  CHECK(map.take(300).shares == Shares{{0, 300}});
  CHECK(map.take(800).shares == Shares{{1, 800}});
  CHECK(map.take(200).shares == Shares{{1, 200}});
  CHECK(map.take(500).shares == Shares{{0, 500}});
  CHECK(map.take(201).shares == Shares{{2, 201}});
}

TEST_CASE("a grant of whole cores and a fraction has them apart", "[core_map]") {
  CoreMap map({0, 1, 2});
  const CoreGrant grant = map.take(2500);
  CHECK(grant.shares == Shares{{0, 1000}, {1, 1000}, {2, 500}});
  CHECK(map.free() == 500);
  map.give_back(grant);
  CHECK(map.free() == 3000);
}

TEST_CASE("a grant is not pinned where the cores are scattered, too few, or not asked for",
          "[core_map]") {
  CoreMap map({0, 1});
  (void)map.take(750);
  (void)map.take(750);
  CHECK_FALSE(map.take(500).is_pinned());  // 250 on each
  CHECK_FALSE(map.take(1000).is_pinned());
  CHECK_FALSE(map.take(5000).is_pinned());
  CHECK_FALSE(map.take(0).is_pinned());
  CHECK(map.free() == 500);
  CHECK_FALSE(CoreMap().take(1000).is_pinned());
}

TEST_CASE("preferred cores come first where they are free", "[core_map]") {
  CoreMap map({0, 1, 2, 3});
  const CoreGrant first = map.take(2500);
  map.give_back(first);
  const CoreGrant other = map.take(1000);
  CHECK(other.cores() == Cores{0});
  const Cores wanted = {3, 0, 1};
  CHECK(map.take(1500, wanted).shares == Shares{{3, 1000}, {1, 500}});
  map.give_back(other);
  // A grant that comes back with its own cores in mind has them again, fraction and all.
  CoreMap fresh({0, 1, 2, 3});
  const CoreGrant once = fresh.take(1400, Cores{2, 3});
  fresh.give_back(once);
  CHECK(fresh.take(1400, once.cores()).shares == once.shares);
}

TEST_CASE("cores that are not ours are no preference", "[core_map]") {
  CoreMap map({0, 1});
  CHECK(map.take(1000, Cores{9, 1}).cores() == Cores{1});
}

/// What a pinned grant must be, whatever the cores were.
void check_shape(const CoreGrant& grant, std::int64_t cpu) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < grant.shares.size(); ++i) {
    const bool is_fraction = i + 1 == grant.shares.size() && cpu % 1000 != 0;
    REQUIRE(grant.shares[i].thousandths == (is_fraction ? cpu % 1000 : 1000));
    for (std::size_t j = 0; j < i; ++j) REQUIRE(grant.shares[i].core != grant.shares[j].core);
    sum += grant.shares[i].thousandths;
  }
  REQUIRE(sum == cpu);
}

/// Whether entirely free cores and one remainder suffice.
bool can_pin(const std::vector<std::int64_t>& used, std::int64_t cpu) {
  std::int64_t whole = 0;
  bool partial = cpu % 1000 == 0;
  for (const std::int64_t amount : used) {
    if (amount == 0) ++whole;
    if (amount != 0 && 1000 - amount >= cpu % 1000) partial = true;
  }
  return cpu > 0 && whole >= cpu / 1000 + (partial ? 0 : 1);
}

void run_sequence(std::mt19937_64& random) {
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };
  Cores ids(static_cast<std::size_t>(1 + below(6)));
  std::iota(ids.begin(), ids.end(), static_cast<int>(below(3)));
  CoreMap map(ids);
  std::vector<std::int64_t> used(ids.size());
  std::vector<std::pair<CoreGrant, std::int64_t>> held;
  const auto account = [&](const CoreGrant& grant, std::int64_t sign) {
    for (const CoreGrant::Share& share : grant.shares) {
      const auto at = static_cast<std::size_t>(share.core - ids.front());
      REQUIRE(at < used.size());
      used[at] += sign * share.thousandths;
      REQUIRE(used[at] >= 0);
      REQUIRE(used[at] <= 1000);
      REQUIRE(map.free(share.core) == 1000 - used[at]);
    }
  };
  for (int step = 0; step < 60; ++step) {
    if (!held.empty() && below(5) < 2) {
      const auto which = held.begin() + below(std::ssize(held));
      map.give_back(which->first);
      account(which->first, -1);
      held.erase(which);
      continue;
    }
    const std::int64_t cpu = below(3) == 0 ? 1000 * below(4) : below(2600);
    const Cores preferred = held.empty() ? Cores{} : held.front().first.cores();
    const bool is_possible = can_pin(used, cpu);
    CoreMap copy = map;
    const CoreGrant grant = map.take(cpu, preferred);
    REQUIRE(copy.take(cpu, preferred).shares == grant.shares);
    REQUIRE(grant.is_pinned() == is_possible);
    if (grant.is_pinned()) check_shape(grant, cpu);
    account(grant, 1);
    held.emplace_back(grant, cpu);
  }
  for (const auto& [grant, cpu] : held) map.give_back(grant);
  REQUIRE(map.free() == std::ssize(ids) * 1000);
}

TEST_CASE("no core is granted more than once over, and all come back", "[core_map]") {
  const std::uint64_t seed = test::test_seed(1);
  INFO("TUNE_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int sequence = 0; sequence < 3000; ++sequence) run_sequence(random);
}

}  // namespace
}  // namespace tune::runtime
