// Draws what a scheduler does to twenty learning curves, for the pages of docs/schedulers.
#include <algorithm>
#include <any>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <tune/schedulers/builtin.hpp>
#include <tune/tune.hpp>

namespace {

constexpr std::string_view usage =
    "scheduler_curves NAME [OPTIONS] [--out FILE] [--trials N] [--slots N] [--steps N] [--seed N]\n"
    "  NAME      a registered scheduler: asha\n"
    "  OPTIONS   its options as JSON: '{\"max_t\": 27, \"reduction_factor\": 3}'\n"
    "  --out     the SVG; default: standard output\n"
    "  --trials  20 by default; --slots 4; --steps 27: of a trial that nobody stops; --seed 1\n";

struct Arguments {
  std::string scheduler;
  tune::Json options = tune::Json::object();
  std::string out;
  std::int64_t trials = 20;
  std::int64_t slots = 4;
  std::int64_t steps = 27;
  std::uint64_t seed = 1;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  std::vector<std::string> plain;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(word + " has no value");
      return argv[++i];
    };
    if (word == "--out") {
      arguments.out = value();
    } else if (word == "--trials") {
      arguments.trials = std::stoll(value());
    } else if (word == "--slots") {
      arguments.slots = std::stoll(value());
    } else if (word == "--steps") {
      arguments.steps = std::stoll(value());
    } else if (word == "--seed") {
      arguments.seed = std::stoull(value());
    } else if (word.starts_with("--")) {
      throw std::invalid_argument(word + " is unknown\n" + std::string(usage));
    } else {
      plain.push_back(word);
    }
  }
  if (plain.empty() || plain.size() > 2) throw std::invalid_argument(std::string(usage));
  arguments.scheduler = plain[0];
  if (plain.size() == 2) arguments.options = tune::Json::parse(plain[1]);
  return arguments;
}

/// What is drawn of a trial.
struct Line {
  struct Point {
    std::int64_t iteration = 0;
    double loss = 0;
  };
  std::vector<Point> points;
  std::vector<Point> pauses;
  struct Clone {
    std::int64_t iteration = 0;
    double from = 0;
    double to = 0;
  };
  std::vector<Clone> clones;
  tune::SimulatedEnd end = tune::SimulatedEnd::finished;
};

/// Loss that falls towards a floor by a power law; floor, speed and step time follow from the
/// configuration. A clone goes on from the loss of its source.
class PowerLaw final : public tune::Workload {
 public:
  PowerLaw(std::uint64_t seed, std::int64_t steps) : seed_(seed), steps_(steps) {}

  tune::SimulatedSetup begin(const tune::SimulatedStart& start) override {
    if (!start.clone_of) loss_.try_emplace(start.trial, 1.0);
    return {};
  }

  void load(const tune::SimulatedStart& start, const std::any& state) override {
    const double before = loss_[start.trial];
    loss_[start.trial] = std::any_cast<double>(state);
    if (start.clone_of) {
      lines_[start.trial].clones.push_back({start.start_iteration, before, loss_[start.trial]});
      lines_[start.trial].points.push_back({start.start_iteration, loss_[start.trial]});
    }
  }

  tune::SimulatedStep step(const tune::SimulatedStart& start, std::int64_t iteration) override {
    const double x = start.config["x"].get<double>();
    const double floor = 0.1 + 1.6 * std::pow(std::abs(x - 0.37), 1.3);
    const double rate = 0.06 + 0.5 * start.config["speed"].get<double>();
    double& loss = loss_[start.trial];
    loss = floor + (loss - floor) * std::pow(1 + 1 / static_cast<double>(iteration), -3 * rate);
    tune::Random random(seed_, "noise", start.trial.value(), static_cast<std::uint64_t>(iteration));
    const double shown = loss + 0.006 * random.normal();
    lines_[start.trial].points.push_back({iteration, shown});
    const double seconds = 0.7 + 0.6 * tune::Random(seed_, "pace", start.trial.value()).uniform();
    return {.metrics = {{"loss", shown}}, .seconds = seconds, .done = iteration >= steps_};
  }

  std::any save(const tune::SimulatedStart& start, std::int64_t) override {
    return loss_[start.trial];
  }

  void end(const tune::SimulatedStart& start, tune::SimulatedEnd end) override {
    Line& line = lines_[start.trial];
    line.end = end;
    if (end == tune::SimulatedEnd::paused && !line.points.empty()) {
      line.pauses.push_back(line.points.back());
    }
  }

  [[nodiscard]] const std::map<tune::TrialId, Line>& lines() const { return lines_; }

 private:
  std::uint64_t seed_;
  std::int64_t steps_;
  std::map<tune::TrialId, double> loss_;
  std::map<tune::TrialId, Line> lines_;
};

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

class Drawing {
 public:
  Drawing(const std::map<tune::TrialId, Line>& lines, std::int64_t steps)
      : lines_(lines), steps_(steps) {
    for (const auto& [id, line] : lines) {
      for (const Line::Point& point : line.points) {
        high_ = std::max(high_, point.loss);
        low_ = std::min(low_, point.loss);
      }
    }
  }

  std::string svg(const std::string& title) const {
    std::string out =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 320\" width=\"640\" "
        "height=\"320\" font-family=\"sans-serif\" font-size=\"12\">\n<style>"
        ".c{fill:none;stroke-width:1.6}.f{stroke:#1f9d55}.s{stroke:#d9534f}"
        ".p{stroke:#c98a00;stroke-dasharray:5 3}.e{stroke:#8a63d2;stroke-dasharray:2 2}"
        ".x{stroke:#3b82f6;stroke-width:1.3}.d{fill:#c98a00}.a{stroke:#808080;fill:none}"
        "text{fill:#808080}</style>\n<title>" +
        title + "</title>\n";
    out += "<path class=\"a\" d=\"M44 14V280H626\"/>\n" + ticks() + legend();
    for (const auto& [id, line] : lines_) out += drawn(line);
    return out + "</svg>\n";
  }

 private:
  [[nodiscard]] std::string x(std::int64_t iteration) const {
    return number(44 + 572.0 * static_cast<double>(iteration) / static_cast<double>(steps_));
  }
  [[nodiscard]] std::string y(double loss) const {
    return number(276 - 250 * (loss - low_) / std::max(high_ - low_, 1e-9));
  }

  [[nodiscard]] std::string ticks() const {
    std::string out;
    const std::int64_t every = std::max<std::int64_t>(1, steps_ / 9);
    for (std::int64_t t = 0; t <= steps_; t += every) {
      out += "<text text-anchor=\"middle\" y=\"296\" x=\"" + x(t) + "\">" + std::to_string(t) +
             "</text>";
    }
    out +=
        "<text text-anchor=\"middle\" x=\"335\" y=\"314\">iteration</text>"
        "<text text-anchor=\"end\" x=\"40\" y=\"24\">loss</text>\n";
    return out;
  }

  [[nodiscard]] static std::string legend() {
    const std::array<std::array<std::string_view, 2>, 5> entries = {{{"f", "ran to its end"},
                                                                     {"s", "stopped"},
                                                                     {"p", "left paused"},
                                                                     {"e", "failed"},
                                                                     {"x", "clone"}}};
    std::string out;
    int at = 88;
    for (const auto& [kind, text] : entries) {
      if (kind == "e") continue;  // none fails here
      const std::string left = std::to_string(at);
      out += "<path class=\"c " + std::string(kind) + "\" d=\"M" + left + " 12h22\"/><text x=\"" +
             std::to_string(at + 27) + "\" y=\"16\">" + std::string(text) + "</text>";
      at += 62 + static_cast<int>(text.size()) * 6;
    }
    return out + "<circle class=\"d\" cx=\"" + std::to_string(at) +
           "\" cy=\"12\" r=\"3\"/><text x=\"" + std::to_string(at + 9) +
           "\" y=\"16\">pause</text>\n";
  }

  [[nodiscard]] std::string drawn(const Line& line) const {
    if (line.points.empty()) return {};
    const char* kind = line.end == tune::SimulatedEnd::finished ? "f"
                       : line.end == tune::SimulatedEnd::stopped
                           ? (line.points.back().iteration >= steps_ ? "f" : "s")
                       : line.end == tune::SimulatedEnd::paused ? "p"
                                                                : "e";
    std::string path;
    std::int64_t before = -1;
    for (const Line::Point& point : line.points) {
      // A clone begins anew where its source was.
      const bool jumps = point.iteration == before;
      path += (path.empty() || jumps ? "M" : "L") + x(point.iteration) + " " + y(point.loss);
      before = point.iteration;
    }
    std::string out = "<path class=\"c " + std::string(kind) + "\" d=\"" + path + "\"/>";
    for (const Line::Point& pause : line.pauses) {
      out += "<circle class=\"d\" r=\"2.4\" cx=\"" + x(pause.iteration) + "\" cy=\"" +
             y(pause.loss) + "\"/>";
    }
    for (const Line::Clone& clone : line.clones) {
      out += "<path class=\"x\" d=\"M" + x(clone.iteration) + " " + y(clone.from) + "V" +
             y(clone.to) + "\"/>";
    }
    return out + "\n";
  }

  const std::map<tune::TrialId, Line>& lines_;
  std::int64_t steps_;
  double high_ = -1e300;
  double low_ = 1e300;
};

void draw(const Arguments& arguments) {
  tune::register_builtin_schedulers();
  tune::Experiment experiment;
  experiment.searcher = tune::random_search();
  experiment.name = arguments.scheduler;
  experiment.space = {{"x", tune::uniform(0, 1)}, {"speed", tune::uniform(0, 1)}};
  experiment.metric = "loss";
  experiment.mode = tune::Mode::min;
  experiment.num_samples = arguments.trials;
  experiment.scheduler = tune::make_scheduler(arguments.scheduler, arguments.options);
  experiment.seed = arguments.seed;
  experiment.checkpoint.every = 1;  // so that there is always something to clone
  tune::Cluster cluster;
  cluster.node.cpus = static_cast<double>(arguments.slots);
  PowerLaw curves(arguments.seed, arguments.steps);
  const tune::Simulation simulation = tune::simulate(experiment, cluster, curves);
  const std::string& error = simulation.results.experiment_end().error;
  if (!error.empty()) throw std::runtime_error(error);

  const std::string svg =
      Drawing(curves.lines(), arguments.steps)
          .svg(std::to_string(arguments.trials) + " learning curves under " + arguments.scheduler);
  if (arguments.out.empty()) {
    std::cout << svg;
    return;
  }
  std::ofstream file(arguments.out);
  if (!(file << svg) || !file.flush()) {
    throw std::runtime_error(arguments.out + ": cannot be written");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    draw(parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "scheduler_curves: " << error.what() << '\n';
    return 1;
  }
}
