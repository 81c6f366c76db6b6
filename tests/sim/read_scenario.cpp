#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

#include <tune/json.hpp>

#include "scenario.hpp"

namespace tune::test {
namespace {

/// The words of a line: quoted text and JSON objects are one word each, '#' begins a comment.
std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == '#') break;
    if (line[i] == ' ' || line[i] == ':') {
      ++i;
    } else if (line[i] == '"') {
      std::string text;
      for (++i; i < line.size() && line[i] != '"'; ++i) {
        if (line[i] == '\\') ++i;
        if (i < line.size()) text += line[i];
      }
      if (i++ >= line.size()) throw std::invalid_argument("a quote is not closed");
      words.push_back(std::move(text));
    } else if (line[i] == '{') {
      const std::size_t end = line.rfind('}');
      if (end == std::string::npos || end < i) throw std::invalid_argument("a brace is not closed");
      words.push_back(line.substr(i, end - i + 1));
      i = end + 1;
    } else {
      const std::size_t end = std::min(line.find_first_of(" :#", i), line.size());
      words.push_back(line.substr(i, end - i));
      i = end;
    }
  }
  return words;
}

std::int64_t whole(const std::string& word) {
  std::size_t used = 0;
  const std::int64_t value = std::stoll(word, &used);
  if (used != word.size()) throw std::invalid_argument(word + " is no whole number");
  return value;
}

double number(const std::string& word) {
  std::size_t used = 0;
  const double value = std::stod(word, &used);
  if (used != word.size()) throw std::invalid_argument(word + " is no number");
  return value;
}

TrialId trial_id(const std::string& word) {
  return TrialId{static_cast<std::uint64_t>(whole(word))};
}

/// "cpu=2" as name and value.
std::pair<std::string, std::string> assignment(const std::string& word) {
  const std::size_t sign = word.find('=');
  if (sign == std::string::npos) throw std::invalid_argument(word + " is not name=value");
  return {word.substr(0, sign), word.substr(sign + 1)};
}

class Reader {
 public:
  explicit Reader(Scenario& scenario) : scenario_(scenario) {}

  void read(const std::string& place, const std::vector<std::string>& words) {
    words_ = &words;
    next_ = 0;
    const std::string first = take();
    if (first == "expect") {
      scenario_.expectations.push_back({place, {words.begin() + 1, words.end()}});
      return;
    }
    if (!read_setting(first) && !read_world(first)) {
      throw std::invalid_argument("unknown word " + first);
    }
    if (next_ != words.size()) throw std::invalid_argument("too many words, from " + words[next_]);
  }

 private:
  std::string take() {
    if (next_ == words_->size()) throw std::invalid_argument("a word is missing at the end");
    return (*words_)[next_++];
  }
  void expect_word(const std::string& word) {
    const std::string found = take();
    if (found != word) throw std::invalid_argument("want " + word + ", found " + found);
  }
  [[nodiscard]] bool has_more() const { return next_ < words_->size(); }

  bool read_setting(const std::string& word) {
    engine::EngineOptions& engine = scenario_.engine;
    if (word == "trials") {
      engine.max_trials = static_cast<std::uint64_t>(whole(take()));
    } else if (word == "objective") {
      const std::string metric = take();
      engine.objective = Objective{metric, take() == "max" ? Mode::max : Mode::min};
    } else if (word == "scheduler") {
      scenario_.scheduler = take();
      while (has_more()) {
        const auto [name, value] = assignment(take());
        scenario_.scheduler_options[name] = Json::accept(value) ? Json::parse(value) : Json(value);
      }
    } else if (word == "max_failures") {
      engine.max_failures = whole(take());
    } else if (word == "retry_pause") {
      engine.retry_pause = Time(number(take()));
      if (has_more()) expect_word("max");
      if (has_more()) engine.max_retry_pause = Time(number(take()));
    } else if (word == "max_experiment_failures") {
      engine.max_experiment_failures = whole(take());
    } else if (word == "fail_fast") {
      engine.fail_fast = true;
    } else if (word == "max_concurrent") {
      engine.max_concurrent = whole(take());
    } else if (word == "max_infeasible") {
      engine.max_infeasible = static_cast<std::uint64_t>(whole(take()));
    } else if (word == "nodes") {
      expect_word("may");
      expect_word("join");
      engine.fixed_cluster = false;
    } else if (word == "strict_metric") {
      engine.strict_metric = take() == "on";
    } else if (word == "time_budget") {
      engine.time_budget = Time(number(take()));
    } else if (word == "request") {
      while (has_more()) set_resource(engine.resources, take());
    } else if (word == "checkpoint") {
      read_checkpoint();
    } else if (word == "stop") {
      const std::string field = take();
      const bool is_below = take() == "<=";
      const double bound = number(take());
      engine.stop = engine.stop | StopCriteria(StopCriteria::Bound{field, bound, is_below});
    } else {
      return false;
    }
    return true;
  }

  void set_resource(Resources& resources, const std::string& word) {
    const auto [name, value] = assignment(word);
    if (name == "cpu") {
      resources.cpu = number(value);
    } else if (name == "gpu") {
      resources.gpu = number(value);
    } else {
      resources.custom[name] = number(value);
    }
  }

  void read_checkpoint() {
    CheckpointOptions& options = scenario_.engine.checkpoint;
    while (has_more()) {
      const auto [name, value] = assignment(take());
      if (name == "every") {
        options.every = whole(value);
      } else if (name == "keep") {
        options.keep = whole(value);
      } else if (name == "keep_best") {
        options.keep_best = whole(value);
      } else {
        throw std::invalid_argument("unknown checkpoint option " + name);
      }
    }
  }

  bool read_world(const std::string& word) {
    if (word == "node") {
      read_event(0, "join");
    } else if (word == "at") {
      const double time_s = number(take());
      read_event(time_s, take());
    } else if (word == "late_messages") {
      scenario_.late_s = number(take());
    } else if (word == "trial") {
      const std::string which = take();
      read_trial(which == "*" ? scenario_.every_trial : trial(trial_id(which)));
    } else if (word == "when") {
      read_call();
    } else {
      return false;
    }
    return true;
  }

  void read_event(double time_s, const std::string& action) {
    ScriptedEvent event{time_s, action, take(), {}};
    if (action == "join") {
      Resources capacity{.cpu = 0};
      while (has_more()) set_resource(capacity, take());
      event.capacity = ResourceAmounts(capacity);
      scenario_.nodes.try_emplace(event.name, NodeId{scenario_.nodes.size()});
    } else if (action != "leave" && action != "stop" && action != "interrupt") {
      throw std::invalid_argument("unknown event " + action);
    }
    scenario_.events.push_back(std::move(event));
  }

  ScriptedTrial& trial(TrialId id) {
    return scenario_.trials.try_emplace(id, scenario_.every_trial).first->second;
  }

  void read_trial(ScriptedTrial& trial) {
    const std::string what = take();
    if (what == "reports") {
      const std::string metric = take();
      std::vector<std::string>& values = trial.metrics[metric];
      values.clear();
      while (has_more()) values.push_back(take());
    } else if (what == "ends") {
      expect_word("after");
      trial.ends_after = whole(take());
    } else if (what == "fails") {
      expect_word("at");
      ScriptedTrial::Failure failure{whole(take()), take(), 1};
      if (has_more()) {
        expect_word("times");
        const std::string times = take();
        failure.times = times == "always" ? std::numeric_limits<std::int64_t>::max() : whole(times);
      }
      trial.failures.push_back(std::move(failure));
    } else if (what == "invalid") {
      trial.invalid = take();
    } else if (what == "cannot") {
      expect_word("load");
      trial.unloadable = take();
    } else if (what == "finds") {
      trial.damaged.insert(take());
      expect_word("damaged");
    } else if (what == "deaf") {
      trial.deaf_for_steps = static_cast<int>(whole(take()));
    } else {
      throw std::invalid_argument("unknown behaviour " + what);
    }
  }

  // when trial 0 reports 3: unpause 1
  void read_call() {
    expect_word("trial");
    ScriptedCall call;
    call.trial = trial_id(take());
    expect_word("reports");
    call.iteration = whole(take());
    call.action = take();
    if (call.action == "unpause" || call.action == "stop_trial") {
      call.target = trial_id(take());
    } else if (call.action == "exploit") {
      call.target = trial_id(take());
      call.source = trial_id(take());
      call.config = Config(Json::parse(take()));
    } else if (call.action != "pause" && call.action != "stop") {
      throw std::invalid_argument("unknown action " + call.action);
    }
    scenario_.calls.push_back(std::move(call));
  }

  Scenario& scenario_;
  const std::vector<std::string>* words_ = nullptr;
  std::size_t next_ = 0;
};

}  // namespace

const ScriptedTrial& Scenario::of(TrialId id) const {
  const auto found = trials.find(id);
  return found == trials.end() ? every_trial : found->second;
}

Scenario read_scenario(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::invalid_argument("cannot read " + file.string());
  Scenario scenario;
  scenario.engine.trainable_checkpoints = true;
  Reader reader(scenario);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string place = file.filename().string() + ":" + std::to_string(number);
    try {
      const std::vector<std::string> words = split_words(line);
      if (!words.empty()) reader.read(place, words);
    } catch (const std::exception& error) {
      throw std::invalid_argument(place + ": " + error.what());
    }
  }
  return scenario;
}

}  // namespace tune::test
