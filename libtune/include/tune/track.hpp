#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tune/checkpoint.hpp>
#include <tune/config.hpp>
#include <tune/json.hpp>
#include <tune/metrics.hpp>
#include <tune/resume.hpp>
#include <tune/trainable.hpp>

/// The cooperative form of training code: a function that reports its results itself.
///
/// The same code runs inside an experiment, as a trial, and by itself. Where no experiment runs in
/// this process, the first call of any function here starts a run of its own, with one trial, whose
/// files are those of an experiment; all threads belong to it. It ends with finish(), or with the
/// program. Where an experiment runs, a thread that belongs to none of its trials gets a
/// std::logic_error.
namespace tune::track {

/// Thrown by report() when the trial shall end (stop, pause, exploit). Let it pass: it is no error.
/// Not a std::exception, so that `catch (const std::exception&)` does not swallow it; if it is
/// swallowed, every later call throws it again.
class Ended {};

/// Writes a checkpoint into an empty directory.
using Writer = std::function<void(const std::filesystem::path& dir)>;

/// A value that save() has kept.
struct Saved {
  Json value;
  std::int64_t index = 0;                           ///< What index() was then.
  std::optional<std::filesystem::path> files = {};  ///< The directory that its writer wrote.
};

/// Of a run outside an experiment; as the fields of Experiment.
struct Options {
  /// Default: $TUNE_RUN, else <program>_<time>_<random>, printed. A run of that name goes on.
  std::string name = {};
  std::string storage_path = {};  ///< Default: $TUNE_STORAGE_PATH, else ~/tune_results.
  /// What config() gives, and what the files say. Of a run that goes on: empty for what it had.
  Json config = Json::object();
  /// As for a train function: `every` 0 stores a checkpoint at each report with a writer.
  CheckpointOptions checkpoint = CheckpointOptions();
  std::optional<std::uint64_t> seed = {};  ///< For context().seed; drawn if not given.
  std::vector<std::string> exporters = {"json", "csv", "tensorboard"};
  /// What becomes of a run of that name that is on record: it goes on, whether it had ended or not,
  /// is refused (`never`), or its directory is moved aside (`fresh`). A run never fails, so
  /// `errored` and `restart_errored` are as `automatic`.
  Resume resume = Resume::automatic;
};

/// Starts this process's run outside an experiment, for those who want a name, a path or a
/// configuration: before any other call here, or after finish(). Or goes on with the run of that
/// name: its newest checkpoint that is whole is checkpoint(), and the next report is the one after
/// it, in the place of those that came later; without a checkpoint it is the one after the last.
/// @throws std::invalid_argument naming the field, its value and what is allowed, a name that is an
/// experiment's or is in use among it; std::logic_error if a run is open, and inside an experiment;
/// std::runtime_error if what is on record cannot be read, or no checkpoint of several is whole.
void init(const Options& options = {});

/// Ends the run outside an experiment; init() may start another. Does nothing inside an experiment,
/// where a trial ends as its function returns, and where no run is open.
/// @throws std::runtime_error if not all could be written.
void finish();

/// Reports one training iteration and returns only when the trial may go on.
///
/// `writer` is called when a checkpoint is due (CheckpointOptions) or asked for. Outside an
/// experiment the result is handed to the kernel before this returns; calls of several threads
/// follow each other, each an iteration of its own; what `writer` throws passes through; and a
/// report of `done` returns and ends the run.
/// @throws Ended when the trial shall end; std::logic_error on a thread that belongs to no trial,
/// within a writer, and after finish(); outside an experiment also std::invalid_argument and
/// std::runtime_error naming the path and the reason if a file cannot be written.
void report(const Metrics& metrics, const Writer& writer = {});

/// Adds metrics to the next report, which may replace them by others of the same name. What no
/// report follows is not recorded. @throws as report().
void log(const Metrics& metrics);

/// How many iterations were reported: what all that is recorded now has beside it. It goes on
/// where a trial or run goes on.
[[nodiscard]] std::int64_t index();

/// Keeps a value under a name, at the present index, for load(): also at a later start of the trial
/// or run, unless that goes back to before this index. With a `writer` a directory is kept beside
/// it, written as a checkpoint is.
/// @throws std::invalid_argument naming it if `name` is not 1 to 100 letters, digits, '_', '-' and
/// '.', if `value` has more than 1 MiB of JSON text, and the newest values of all names more than
/// 8 MiB; what `writer` throws; std::runtime_error if its files cannot be written; as report().
void save(const std::string& name, const Json& value, const Writer& writer = {});
/// The newest value of that name; empty if there is none. Of a name the newest value is kept, and
/// for each checkpoint the one that was the newest then.
/// @throws std::runtime_error if its files are not as they were written; as report().
[[nodiscard]] std::optional<Saved> load(const std::string& name);
/// Keeps a copy of a file or directory, as a value null with that beside it: load(name).files is
/// the directory with the copy of the file, or is the copy of the directory. It lies in the trial's
/// directory, as artifacts/<name>_<index>/. `name`: default: the last part of `path`.
/// @throws std::invalid_argument naming `path` if there is no file or directory; as save().
void artifact(const std::filesystem::path& path, const std::string& name = {});
/// Goes back: the next report is number `index` + 1. What was saved later is dropped at once; all
/// results, saved values and checkpoints that came later make way with that report, in all files.
/// @throws std::invalid_argument if `index` is below 0 or beyond the present one; as report().
void restore(std::int64_t index);

/// The checkpoint to go on from, at this start of the trial; empty for a fresh start.
[[nodiscard]] std::optional<std::filesystem::path> checkpoint();
/// The trial's configuration; it stays as long as the trial or run.
[[nodiscard]] const Config& config();
/// What the trial is and was given.
[[nodiscard]] const TrialContext& context();
/// True once the trial shall end.
[[nodiscard]] bool should_stop();

/// One trial's link to whoever runs it.
class Session {
 public:
  virtual ~Session();
  virtual void report(const Metrics& metrics, const Writer& writer) = 0;
  virtual void log(const Metrics& metrics) = 0;
  virtual void save(const std::string& name, const Json& value, const Writer& writer) = 0;
  [[nodiscard]] virtual std::optional<Saved> load(const std::string& name) = 0;
  [[nodiscard]] virtual std::int64_t index() = 0;
  virtual void restore(std::int64_t index) = 0;
  [[nodiscard]] virtual const Config& config() const = 0;
  [[nodiscard]] virtual const TrialContext& context() const = 0;
};
using Handle = std::shared_ptr<Session>;

/// The session of the calling thread, to be given to attach() on another thread. Outside an
/// experiment that is of no need, and does no harm.
/// @throws std::logic_error on a thread that belongs to no trial.
[[nodiscard]] Handle handle();

/// Makes the calling thread act for the trial of `handle` as long as it lives.
class [[nodiscard]] Attachment {
 public:
  explicit Attachment(Handle handle);
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

 private:
  const Handle handle_;
  const Handle* previous_;
};
[[nodiscard]] inline Attachment attach(Handle handle) { return Attachment(std::move(handle)); }

}  // namespace tune::track
