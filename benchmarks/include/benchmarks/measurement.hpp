#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <tune/json.hpp>

namespace tune::bench {

/// What the command line asks for.
struct Options {
  bool is_quick = false;
  bool prints_json = false;
  int repetitions = 5;
  bool says_repetitions = false;    ///< `repetitions` is not the default.
  std::string filter;               ///< Part of the name of what is measured; empty: all.
  std::filesystem::path directory;  ///< Where files go; on what they lie matters.

  /// `count` results, or a few of them where it has to be quick.
  [[nodiscard]] std::int64_t scaled(std::int64_t count) const {
    return is_quick ? count / 20 : count;
  }
};

/// The line of --help for each option that all these programs have.
inline constexpr std::string_view common_usage =
    "  --quick      few of everything, one repetition: that it runs\n"
    "  --json       a JSON object a line on stdout, the table on stderr\n"
    "  --filter     only what has TEXT in its name\n"
    "  --repeat     so often, 5 by default\n"
    "  --directory  where files go; by default where temporary files do\n";

/// Reads the command line. `take_own` gets each word that is not among the common ones, and says
/// whether it is one of the program's own.
/// @throws std::invalid_argument naming the word, with `usage`.
[[nodiscard]] Options read_options(int argc, char** argv, std::string_view usage,
                                   const std::function<bool(std::string_view)>& take_own = {});

/// One repetition: what was measured, and right beside it what bounds it.
struct Sample {
  double value = 0;
  double limit = 0;  ///< 0: none was measured.
};

/// Samples of one case, in the order in which they were taken.
struct Measurement {
  std::string name;  ///< "journal/results"
  Json parameters = Json::object();
  std::string unit;
  std::string limit_is;  ///< What the limit is of; empty: there is none.
  std::vector<Sample> samples = {};
};

/// `measurement` with as many samples as are asked for.
[[nodiscard]] Measurement repeated(const Options& options, Measurement measurement,
                                   const std::function<Sample()>& measure);
/// The same of several that one run gives, in their order.
[[nodiscard]] std::vector<Measurement> repeated(
    const Options& options, std::vector<Measurement> measurements,
    const std::function<std::vector<Sample>()>& measure);

/// Prints what was measured.
class Reporter {
 public:
  explicit Reporter(Options options);
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] bool wants(const std::string& name) const;
  void print(const Measurement& measurement) const;

 private:
  void print_json(const Measurement& measurement) const;
  void print_table(const Measurement& measurement) const;

  Options options_;
  Json machine_;
};

/// A directory for one repetition, removed with it.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const Options& options);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] double seconds_of(const std::function<void()>& work);
/// The value below which a share `share` of `values` lies. @pre not empty
[[nodiscard]] double quantile(std::vector<double> values, double share);

/// Results per second that plain SQLite takes, `group` a transaction.
[[nodiscard]] double plain_rate(const Options& options, std::int64_t count, std::int64_t group);

void measure_writes(const Reporter& reporter);
void measure_latencies(const Reporter& reporter);

}  // namespace tune::bench
