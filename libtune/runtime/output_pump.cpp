#include "runtime/output_pump.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "output_file.hpp"

namespace tune::runtime {

class OutputPump::Thread {
 public:
  using Task = std::function<void()>;

  explicit Thread(Options options)
      : options_(std::move(options)), wake_(make_event()), thread_([this] { run(); }) {}
  ~Thread() {
    post([this] { is_over_ = true; });
    thread_.join();
  }

  void post(Task task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    signal_event(wake_);
  }

  // On the thread itself.
  void add(std::uint64_t worker, Descriptor out, Descriptor err) {
    set_blocking(out.get(), false);
    set_blocking(err.get(), false);
    Streams& added = workers_[worker];
    added.out.pipe = std::move(out);
    added.err.pipe = std::move(err);
  }
  void begin(std::uint64_t id, const std::filesystem::path& directory, const std::string& name,
             const std::function<void()>& ready) {
    if (const auto worker = workers_.find(id); worker != workers_.end()) {
      auto& [out, err] = worker->second;
      out.drain();  // what came after the trial before
      err.drain();
      out.file.emplace(directory / "stdout", "(" + name + ") ", options_);
      err.file.emplace(directory / "stderr", "(" + name + " stderr) ", options_);
    }
    ready();
  }
  void finish(std::uint64_t id, const std::function<void(std::string)>& done) {
    std::string end;
    if (const auto worker = workers_.find(id); worker != workers_.end()) {
      auto& [out, err] = worker->second;
      out.drain();
      err.drain();
      if (err.file) end = err.file->last_lines();
      out.close_file();
      err.close_file();
    }
    done(std::move(end));
  }
  void remove(std::uint64_t worker) { workers_.erase(worker); }

 private:
  /// One pipe and where its output goes.
  struct Stream {
    Descriptor pipe;
    std::optional<OutputFile> file = {};

    /// Reads once what the pipe holds. False if that was nothing, or its end.
    bool read_some() {
      static thread_local std::array<char, 64U << 10U> buffer;
      const ssize_t count = ::read(pipe.get(), buffer.data(), buffer.size());
      if (count == 0) pipe.reset();
      if (count <= 0) return false;
      if (file) file->write({buffer.data(), static_cast<std::size_t>(count)});
      return true;
    }
    /// Reads what the pipe holds, though never for ever: whoever still writes is not waited for.
    void drain() {
      constexpr int enough = 64;  // more than any pipe holds
      for (int i = 0; pipe && i < enough; ++i) {
        if (!read_some()) return;
      }
    }
    void close_file() {
      if (file) file->close();
      file.reset();
    }
  };
  struct Streams {
    Stream out;
    Stream err;
  };

  void run() {
    while (!is_over_) {
      wait_and_read();
      clear_event(wake_);
      std::vector<Task> tasks;
      {
        const std::lock_guard lock(mutex_);
        tasks.swap(tasks_);
      }
      for (const Task& task : tasks) task();
    }
  }

  void wait_and_read() {
    entries_.assign(1, {wake_.get(), POLLIN, 0});
    streams_.clear();
    for (auto& [id, worker] : workers_) {
      for (Stream* stream : {&worker.out, &worker.err}) {
        if (!stream->pipe) continue;
        entries_.push_back({stream->pipe.get(), POLLIN, 0});
        streams_.push_back(stream);
      }
    }
    ::poll(entries_.data(), entries_.size(), -1);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (entries_[i + 1].revents != 0) (void)streams_[i]->read_some();
    }
  }

  const Options options_;
  const Descriptor wake_;
  std::mutex mutex_;  // guards tasks_
  std::vector<Task> tasks_;
  std::map<std::uint64_t, Streams> workers_;
  std::vector<pollfd> entries_;
  std::vector<Stream*> streams_;  // of entries_ from the second on
  bool is_over_ = false;
  std::thread thread_;  // last: it uses all above
};

OutputPump::OutputPump(Options options) : thread_(std::make_unique<Thread>(std::move(options))) {}
OutputPump::OutputPump() : OutputPump(Options{}) {}
OutputPump::~OutputPump() = default;

void OutputPump::add(std::uint64_t worker, Descriptor out, Descriptor err) {
  // std::function wants what can be copied.
  const auto pipes =
      std::make_shared<std::pair<Descriptor, Descriptor>>(std::move(out), std::move(err));
  thread_->post([thread = thread_.get(), worker, pipes] {
    thread->add(worker, std::move(pipes->first), std::move(pipes->second));
  });
}

void OutputPump::begin(std::uint64_t worker, std::filesystem::path directory, std::string label,
                       std::function<void()> ready) {
  thread_->post([=, thread = thread_.get()] { thread->begin(worker, directory, label, ready); });
}

void OutputPump::finish(std::uint64_t worker, std::function<void(std::string)> done) {
  thread_->post([=, thread = thread_.get()] { thread->finish(worker, done); });
}

void OutputPump::remove(std::uint64_t worker) {
  thread_->post([=, thread = thread_.get()] { thread->remove(worker); });
}

}  // namespace tune::runtime
