#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/builtin.hpp>
#include <tune/searchers/random.hpp>
#include <tune/simulate.hpp>

namespace tune::test {
namespace {

// The work of a discrete-event reference of multi-fidelity schedulers, written in another language:
// what is drawn is a function of (seed, stream, index), so both do exactly the same work.

std::uint64_t mixed(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

double uniform_of(std::uint64_t key) { return static_cast<double>(mixed(key) >> 11U) * 0x1p-53; }

std::uint64_t key_of(std::uint64_t seed, std::uint64_t stream, std::uint64_t i, std::uint64_t j) {
  return seed * 0x9E3779B97F4A7C15ULL + stream * 0xBF58476D1CE4E5B9ULL + i * 0x94D049BB133111EBULL +
         j * 0xD6E8FEB86659FD93ULL;
}

double normal_of(std::uint64_t key) {
  return std::sqrt(-2 * std::log(1 - uniform_of(key))) *
         std::cos(2 * std::numbers::pi * uniform_of(key ^ 0xA5A5A5A5A5A5A5A5ULL));
}

/// Noisy exponential learning curves; a step of trial i always takes the same time.
class Curves final : public Workload {
 public:
  explicit Curves(std::uint64_t seed) : seed_(seed) {}

  SimulatedStep step(const SimulatedStart& start, std::int64_t iteration) override {
    const std::uint64_t i = start.trial.value();
    const auto t = static_cast<std::uint64_t>(iteration);
    double sum = 0;
    for (std::uint64_t j = 0; j < 4; ++j) {
      sum += std::pow(std::abs(2 * uniform_of(key_of(seed_, 1, i, j)) - 1), 1.5);
    }
    const double floor = 0.2 + 0.8 * sum / 4;
    const double k = 0.05 + 0.45 * uniform_of(key_of(seed_, 2, i, 0));
    const double loss = floor + (1 - floor) * std::exp(-k * static_cast<double>(iteration)) +
                        0.01 * normal_of(key_of(seed_, 3, i, t));
    return {.metrics = {{"loss", loss}}, .seconds = 0.5 + uniform_of(key_of(seed_, 4, i, 0))};
  }

 private:
  std::uint64_t seed_;
};

/// Jobs of which some are slow and some are lost, after appendix A.1 of the ASHA paper.
class Stragglers final : public Workload {
 public:
  Stragglers(std::uint64_t seed, double sd, double p) : seed_(seed), sd_(sd), p_(p) {}

  SimulatedSetup begin(const SimulatedStart& start) override {
    if (p_ <= 0) return {};
    return {.lost_after =
                std::log(1 - uniform_of(key_of(seed_, 6, start.number, 0))) / std::log(1 - p_)};
  }
  SimulatedStep step(const SimulatedStart& start, std::int64_t) override {
    return {.metrics = {{"loss", uniform_of(key_of(seed_, 1, start.trial.value(), 0))}},
            .seconds = 1 + std::abs(sd_ * normal_of(key_of(seed_, 5, start.number, 0)))};
  }

 private:
  std::uint64_t seed_;
  double sd_;
  double p_;
};

enum Work { curves, stragglers };

struct Figures {
  std::string scheduler;
  Work work;
  std::uint64_t seed;
  double sd, p;
  int workers;
  double horizon;
  // What the reference gives: of the trials that were trained to the end their number, the sum of
  // place × id in their order, the jobs begun, and first time, sum of times, sum of losses.
  std::uint64_t trained, ids, jobs;
  double first_s, times_s, losses;
};

Simulation run_reference(const Figures& row, int max_t) {
  std::unique_ptr<Workload> work = std::make_unique<Curves>(row.seed);
  if (row.work == stragglers) work = std::make_unique<Stragglers>(row.seed, row.sd, row.p);
  Json options = {{"max_t", max_t}, {"grace_period", 1}, {"reduction_factor", 4}};
  if (row.scheduler == "successive_halving") {
    options["n"] = max_t;
  } else {
    options["type"] = "promotion";
  }
  if (row.scheduler == "async_hyperband") options["brackets"] = max_t == 256 ? 5 : 4;
  register_builtin_schedulers();
  Experiment experiment;
  experiment.searcher = random_search();
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = -1;
  experiment.scheduler = make_scheduler(row.scheduler, options);
  // A lost job is done again by ASHA, and dropped from its rung by successive halving.
  experiment.failure.max_failures = row.scheduler == "successive_halving" ? 0 : -1;
  experiment.failure.retry_pause = std::chrono::seconds(0);
  experiment.time_budget = std::chrono::duration<double>(row.horizon);
  experiment.seed = row.seed;
  Cluster cluster;
  cluster.node.cpus = row.workers;
  return simulate(experiment, cluster, work);
}

// `max_t` is 256 for the stragglers and with 100 workers, else 64.
const Figures reference[] = {
    {"asha", curves, 0, 0.0, 0.0, 25, 700.0, 89, 10772777, 6670, 42.65297471040223,
     31300.30820532192, 25.82689454421853},
    {"asha", curves, 1, 0.0, 0.0, 25, 700.0, 91, 10304643, 6502, 47.42923546070958,
     30909.882997063993, 26.2964025986081},
    {"asha", curves, 2, 0.0, 0.0, 25, 700.0, 88, 10972346, 6830, 57.99489987331356,
     31499.92396122032, 25.562099825853096},
    {"asha", curves, 7, 0.0, 0.0, 1, 6000.0, 33, 610848, 2416, 159.5043959483096,
     100051.22400842684, 9.178135495003891},
    {"asha", curves, 4, 0.0, 0.0, 100, 500.0, 46, 3722587, 16381, 163.00360230172942,
     15391.728489416999, 12.365030702196401},
    {"asha", curves, 0, 0.0, 0.0, 500, 200.0, 378, 994214620, 42023, 33.41288416719493,
     46264.73073837377, 106.29693683536249},
    {"asha", stragglers, 0, 0.1, 0.0, 25, 2000.0, 49, 6585353, 14236, 286.2858171547318,
     51729.61650906137, 0.12528199329311485},
    {"asha", stragglers, 1, 0.1, 0.01, 25, 2000.0, 22, 679613, 10428, 396.9622708229967,
     23881.83663641388, 0.060858079762019957},
    {"asha", stragglers, 2, 0.56, 0.002, 25, 2000.0, 38, 2491842, 9342, 328.9040928653011,
     43314.685840648366, 0.14078171417200558},
    {"asha", stragglers, 3, 1.33, 0.0, 25, 2000.0, 25, 852420, 7027, 582.6481360531374,
     30646.131584949373, 0.08648143581457934},
    {"asha", stragglers, 4, 1.33, 0.01, 25, 2000.0, 9, 69021, 6092, 1064.4445785222279,
     13136.84010815711, 0.03449817292981716},
    {"successive_halving", curves, 0, 0.0, 0.0, 25, 700.0, 74, 8723947, 7141, 68.35439229024227,
     27747.026267044108, 22.19117204278241},
    {"successive_halving", curves, 1, 0.0, 0.0, 25, 700.0, 75, 9085225, 7136, 58.682117767409736,
     28652.752428346852, 22.26352185974162},
    {"successive_halving", curves, 2, 0.0, 0.0, 25, 700.0, 76, 9442220, 7232, 77.2936771294539,
     28904.31009458575, 22.881526520830477},
    {"successive_halving", curves, 7, 0.0, 0.0, 1, 6000.0, 30, 590023, 2625, 189.4475248357352,
     91594.40205392904, 9.018536928479588},
    {"successive_halving", curves, 4, 0.0, 0.0, 100, 500.0, 29, 2159057, 18408, 265.7419029605937,
     11115.538337959695, 7.7215945123825644},
    {"successive_halving", curves, 0, 0.0, 0.0, 500, 200.0, 346, 881296819, 43381,
     48.86353176221031, 44869.93237440648, 102.75186621136523},
    {"successive_halving", stragglers, 0, 0.1, 0.0, 25, 2000.0, 40, 5575598, 15903,
     301.6995944787363, 45022.539897605835, 0.16189121816085017},
    {"successive_halving", stragglers, 1, 0.1, 0.01, 25, 2000.0, 7, 244012, 18970,
     334.75837204970765, 8720.765295454623, 0.048629322588217616},
    {"successive_halving", stragglers, 2, 0.56, 0.002, 25, 2000.0, 16, 659967, 12790,
     390.278694923711, 18240.294544378747, 0.05946246844443692},
    {"successive_halving", stragglers, 3, 1.33, 0.0, 25, 2000.0, 18, 516582, 8609,
     681.8183770041549, 22913.66814345983, 0.06877590123825317},
    {"successive_halving", stragglers, 4, 1.33, 0.01, 25, 2000.0, 1, 1998, 11143, 866.3403717559362,
     866.3403717559362, 0.012868053098049614},
    {"async_hyperband", curves, 0, 0.0, 0.0, 25, 700.0, 150, 11550533, 2430, 45.20148291616443,
     54800.654229129264, 62.07403075667842},
    {"async_hyperband", curves, 1, 0.0, 0.0, 25, 700.0, 158, 13640263, 2372, 51.63532087859613,
     60750.066099492295, 66.41465094215643},
    {"async_hyperband", curves, 2, 0.0, 0.0, 25, 700.0, 157, 13354736, 2479, 43.967775398239915,
     58232.38229608982, 64.95310597226317},
    {"async_hyperband", curves, 7, 0.0, 0.0, 1, 6000.0, 57, 684576, 892, 159.5043959483096,
     175738.01137410436, 23.83655399129886},
    {"async_hyperband", curves, 4, 0.0, 0.0, 100, 500.0, 69, 3188274, 5074, 164.3324792912377,
     24591.903187083335, 26.532929790895327},
    {"async_hyperband", curves, 0, 0.0, 0.0, 500, 200.0, 757, 1599319224, 15168, 34.74786132529225,
     93073.18419694998, 316.62397916489516},
    // Its reference does a lost job again when the turn of its bracket comes, asynchronous
    // HyperBand here at once: so none with losses.
    {"async_hyperband", stragglers, 1, 0.56, 0.0, 25, 2000.0, 62, 2497339, 3477, 382.5743260947862,
     75279.42512432502, 15.53996426358489},
    {"async_hyperband", stragglers, 2, 1.33, 0.0, 25, 2000.0, 41, 771451, 2512, 405.0311790910796,
     52133.51427935269, 10.842413475980697},
};

TEST_CASE("simulated schedulers give the figures of the reference", "[reference]") {
  for (const Figures& row : reference) {
    CAPTURE(row.scheduler, int(row.work), row.seed, row.workers);
    const int max_t = row.work == stragglers || row.workers == 100 ? 256 : 64;
    const Simulation simulation = run_reference(row, max_t);
    std::map<double, std::pair<std::uint64_t, double>> trained;  // by time
    for (const TrialResult& trial : simulation.results) {
      if (trial.training_iteration < max_t) continue;
      const Result last = trial.history().back();
      // Told to stop at the horizon, a trial still brings the step under way to its end.
      if (last.timestamp > row.horizon) continue;
      trained[last.timestamp] = {trial.id.value(), last.number("loss").value()};
    }
    std::uint64_t ids = 0;
    std::uint64_t place = 0;
    double times_s = 0;
    double losses = 0;
    for (const auto& [time_s, trial] : trained) {
      ids += ++place * trial.first;
      times_s += time_s;
      losses += trial.second;
    }
    CHECK(trained.size() == row.trained);
    CHECK(ids == row.ids);
    CHECK(simulation.starts == row.jobs);
    CHECK(times_s == Approx(row.times_s).epsilon(1e-9).margin(0));
    CHECK(losses == Approx(row.losses).epsilon(1e-9).margin(0));
    if (!trained.empty()) {
      CHECK(trained.begin()->first == Approx(row.first_s).epsilon(1e-9).margin(0));
    }
  }
}

TEST_CASE("the reference's chance is drawn alike", "[reference]") {
  CHECK(uniform_of(key_of(1, 2, 3, 4)) == 0.7448907665179838);
  CHECK(normal_of(key_of(1, 2, 3, 4)) == Approx(-0.22710876591794626).epsilon(1e-12));
}

}  // namespace
}  // namespace tune::test
