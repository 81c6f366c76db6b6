// How much does the journal add to what SQLite needs for the same rows?
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/measurement.hpp"
#include "benchmarks/raw_journal.hpp"
#include "store/journal.hpp"

namespace tune::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t trial_count = 100;
constexpr double some_time = 1.7e9;

/// Puts results in, one of each trial after the other.
class Writer {
 public:
  virtual ~Writer() = default;
  /// The n-th result, from 1.
  virtual void put(std::int64_t n) = 0;
  virtual void commit() = 0;
};

std::unique_ptr<store::Journal> make_journal(const fs::path& directory) {
  store::ExperimentRow experiment;
  experiment.name = "bench";
  auto journal = store::Journal::create(directory, experiment, store::JournalMode::wal);
  for (std::int64_t id = 0; id < trial_count; ++id) {
    journal->add_trial(TrialId(static_cast<std::uint64_t>(id)), std::to_string(id),
                       Config(Json{{"lr", 0.1}}), 0);
  }
  journal->commit();
  return journal;
}

class JournalWriter final : public Writer {
 public:
  explicit JournalWriter(const fs::path& directory) : journal_(make_journal(directory)) {}

  void put(std::int64_t n) override {
    const TrialId trial(static_cast<std::uint64_t>(n % trial_count));
    event_.number = n;
    event_.time_s = static_cast<double>(n);
    event_.kind = "result";
    event_.trial = trial;
    event_.incarnation = 1;
    event_.sequence = static_cast<std::uint64_t>(n);
    journal_->add(event_);
    store::ResultRow row{trial, 1, {}, false, n};
    row.result.metrics = {{"loss", 1.0 / static_cast<double>(n)}};
    row.result.training_iteration = n / trial_count + 1;
    row.result.time_this_iter_s = 1;
    row.result.time_total_s = static_cast<double>(n);
    row.result.timestamp = some_time;
    journal_->add_result(row);
  }
  void commit() override { journal_->commit(); }
  void sync() { journal_->sync(); }

 private:
  std::unique_ptr<store::Journal> journal_;
  store::EventRow event_;
};

/// The same rows, with nothing between the caller and SQLite.
class RawWriter final : public Writer {
 public:
  explicit RawWriter(const fs::path& directory)
      : database_(made(directory)),
        event_(database_.get(), "INSERT INTO events VALUES (?, ?, 'result', ?, 1, ?, NULL, NULL)"),
        result_(database_.get(),
                "INSERT INTO all_results VALUES (?, ?, 1, ?, 1, ?, ?, 0, 0, ?, NULL, NULL, ?)"),
        trial_(database_.get(), "UPDATE trials SET last_result = ? WHERE id = ?"),
        begin_(database_.get(), "BEGIN IMMEDIATE"),
        commit_(database_.get(), "COMMIT") {}

  void put(std::int64_t n) override {
    if (in_group_++ == 0) begin_.step();
    const auto time = static_cast<double>(n);
    event_.bind(1, n).bind(2, time).bind(3, n % trial_count).bind(4, n).step();
    metrics_ = "{\"loss\":" + std::to_string(1.0 / time) + "}";
    result_.bind(1, n).bind(2, n % trial_count).bind(3, n / trial_count + 1);
    result_.bind(4, time).bind(5, some_time).bind(6, metrics_).bind(7, n - trial_count).step();
    last_ = n;
  }
  void commit() override {
    const std::int64_t touched = std::min(in_group_, trial_count);
    for (std::int64_t n = last_ - touched + 1; n <= last_; ++n) {
      trial_.bind(1, n).bind(2, n % trial_count).step();
    }
    commit_.step();
    in_group_ = 0;
  }

 private:
  static fs::path made(const fs::path& directory) {
    make_journal(directory).reset();
    return directory / store::journal_file;
  }

  RawJournal database_;
  RawStatement event_;
  RawStatement result_;
  RawStatement trial_;
  RawStatement begin_;
  RawStatement commit_;
  std::string metrics_;
  std::int64_t in_group_ = 0;
  std::int64_t last_ = 0;
};

/// Results per second of `count` of them, `group` a transaction.
double rate(Writer& writer, std::int64_t count, std::int64_t group) {
  const double seconds = seconds_of([&] {
    for (std::int64_t n = 1; n <= count; ++n) {
      writer.put(n);
      if (n % group == 0) writer.commit();
    }
  });
  return static_cast<double>(count) / seconds;
}

/// How long each commit of `group` results takes, in microseconds.
std::vector<double> commit_times(Writer& writer, std::int64_t commits, std::int64_t group) {
  std::vector<double> times;
  std::int64_t n = 0;
  for (std::int64_t i = 0; i < commits; ++i) {
    for (std::int64_t in_group = 0; in_group < group; ++in_group) writer.put(++n);
    times.push_back(1e6 * seconds_of([&] { writer.commit(); }));
  }
  return times;
}

// A page, written and forced to the disk, as often.
std::vector<double> plain_sync_times(const fs::path& directory, std::int64_t count) {
  const std::array<char, 4096> page{};
  std::vector<double> times;
  const int file = ::open((directory / "plain").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  for (std::int64_t i = 0; i < count; ++i) {
    if (::write(file, page.data(), page.size()) < 0) break;
    times.push_back(1e6 * seconds_of([&] { (void)::fdatasync(file); }));
  }
  ::close(file);
  return times;
}

void measure_sync(const Reporter& reporter) {
  if (!reporter.wants("journal/sync")) return;
  const std::int64_t count = reporter.options().scaled(1000);
  Measurement median{"journal/sync",
                     {{"group", 20}, {"quantile", "p50"}},
                     "us",
                     "fdatasync of a written page",
                     {}};
  Measurement worst = median;
  worst.parameters["quantile"] = "p99";
  for (int i = 0; i < reporter.options().repetitions; ++i) {
    const ScratchDirectory directory(reporter.options());
    JournalWriter writer(directory.path());
    std::vector<double> times;
    std::int64_t n = 0;
    for (std::int64_t commit = 0; commit < count; ++commit) {
      for (int in_group = 0; in_group < 20; ++in_group) writer.put(++n);
      writer.commit();
      times.push_back(1e6 * seconds_of([&] { writer.sync(); }));
    }
    const std::vector<double> plain = plain_sync_times(directory.path(), count);
    median.samples.push_back({quantile(times, 0.5), quantile(plain, 0.5)});
    worst.samples.push_back({quantile(times, 0.99), quantile(plain, 0.99)});
  }
  reporter.print(median);
  reporter.print(worst);
}

}  // namespace

void measure_writes(const Reporter& reporter) {
  if (!reporter.wants("journal/results")) return;
  for (const std::int64_t group : {1, 20, 1000}) {
    const std::int64_t count = reporter.options().scaled(group == 1 ? 40'000 : 200'000);
    Measurement measured{
        "journal/results", {{"group", group}, {"results", count}}, "results/s", "plain SQLite", {}};
    for (int i = 0; i < reporter.options().repetitions; ++i) {
      const ScratchDirectory ours(reporter.options());
      const ScratchDirectory raw(reporter.options());
      JournalWriter writer(ours.path());
      RawWriter limit(raw.path());
      measured.samples.push_back({rate(writer, count, group), rate(limit, count, group)});
    }
    reporter.print(measured);
  }
}

void measure_latencies(const Reporter& reporter) {
  for (const std::int64_t group : {1, 20}) {
    if (!reporter.wants("journal/commit")) break;
    const std::int64_t commits = reporter.options().scaled(10'000);
    Measurement median{
        "journal/commit", {{"group", group}, {"quantile", "p50"}}, "us", "plain SQLite", {}};
    Measurement worst = median;
    worst.parameters["quantile"] = "p99";
    for (int i = 0; i < reporter.options().repetitions; ++i) {
      const ScratchDirectory ours(reporter.options());
      const ScratchDirectory raw(reporter.options());
      JournalWriter writer(ours.path());
      RawWriter limit(raw.path());
      const std::vector<double> times = commit_times(writer, commits, group);
      const std::vector<double> plain = commit_times(limit, commits, group);
      median.samples.push_back({quantile(times, 0.5), quantile(plain, 0.5)});
      worst.samples.push_back({quantile(times, 0.99), quantile(plain, 0.99)});
    }
    reporter.print(median);
    reporter.print(worst);
  }
  measure_sync(reporter);
}

double plain_rate(const Options& options, std::int64_t count, std::int64_t group) {
  const ScratchDirectory directory(options);
  RawWriter writer(directory.path());
  return rate(writer, count, group);
}

}  // namespace tune::bench
