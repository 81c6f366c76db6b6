#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tune/trainable.hpp>

namespace tune::runtime {

/// What a ScriptedTrainable does is decided by the test.
struct Script {
  std::function<void(Trainable&)> setup = [](Trainable&) {};
  std::function<Metrics(Trainable&, int step)> step = [](Trainable&, int step) {
    return Metrics{{"x", step}};
  };
  std::function<void(const std::filesystem::path&)> save = [](const std::filesystem::path&) {};
  std::function<void()> load = [] {};
  std::function<bool(Trainable&)> reset = [](Trainable&) { return true; };
  std::function<void()> cleanup = [] {};

  std::mutex mutex;
  std::vector<std::string> calls;
  void note(const std::string& call) {
    const std::lock_guard lock(mutex);
    calls.push_back(call);
  }
};

class ScriptedTrainable final : public Trainable {
 public:
  explicit ScriptedTrainable(Script& script) : script_(script) { script_.note("made"); }
  ~ScriptedTrainable() override { script_.note("destroyed"); }
  void setup(const Config&) override {
    script_.note("setup");
    script_.setup(*this);
  }
  Metrics step() override {
    ++steps_;
    script_.note("step " + std::to_string(steps_));
    return script_.step(*this, steps_);
  }
  void save_checkpoint(const std::filesystem::path& directory) override {
    script_.note("save " + std::to_string(steps_));
    std::ofstream(directory / "steps") << steps_;
    script_.save(directory);
  }
  void load_checkpoint(const std::filesystem::path& directory) override {
    script_.load();
    std::ifstream(directory / "steps") >> steps_;
    script_.note("load " + std::to_string(steps_));
  }
  bool reset_config(const Config&) override {
    script_.note("reset");
    steps_ = 0;
    return script_.reset(*this);
  }
  void cleanup() override {
    script_.note("cleanup");
    script_.cleanup();
  }

 private:
  Script& script_;
  int steps_ = 0;
};

inline TrainableSpec scripted(Script& script) {
  TrainableSpec spec;
  spec.name = "Scripted";
  spec.checkpoints = true;
  spec.make = [&script] { return std::make_unique<ScriptedTrainable>(script); };
  return spec;
}

/// A step that ends its trial with its n-th result.
inline auto done_at(int last) {
  return [last](Trainable&, int step) { return Metrics{{"x", step}, {"done", step == last}}; };
}

}  // namespace tune::runtime
