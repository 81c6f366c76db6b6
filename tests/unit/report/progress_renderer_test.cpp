#include "report/progress_renderer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "progress_samples.hpp"
#include "report/display_text.hpp"

namespace tune::report {
namespace {

using test::sample_progress;
using test::sample_trial;
using Lines = std::vector<std::string>;

Lines render(const Progress& progress, std::size_t columns, std::size_t rows = 24,
             Charset charset = Charset::ascii) {
  return render_progress(progress, {.columns = columns, .rows = rows, .charset = charset});
}

TEST_CASE("a search in a window of 80 columns", "[progress_renderer]") {
  CHECK(render(sample_progress(), 80) ==
        Lines{"[###############--------------------]  12/27 trials  44 %  3:12  about 4:05 left",
              "2 running  1 paused  3 pending  11 terminated  1 error  cpu 2/2  gpu 0.5/1",
              "best val_acc 0.8912  trial 00007  iteration 9",
              "     hidden=[128,64]  lr=0.002769  optimizer=adam",
              "asha up to 9; rung 1: 12 values, cut-off 0.84",
              "trial  iter   time  val_acc    loss  config",
              "00012   3/9  4.5 s   0.8712  0.3310  hidden=[128,64] lr=0.002769 optimizer=adam",
              "00013     -      -        -       -  hidden=[128,64] lr=0.002769 optimizer=adam",
              "error trial 00005: on purpose", "      /results/fashion/00005/error.txt"});
}

TEST_CASE("the same in a narrow window", "[progress_renderer]") {
  CHECK(render(sample_progress(), 24, 24, Charset::unicode) ==
        Lines{"12/27 trials  44 %  3:12", "2 running  1 paused", "3 pending  11 terminated",
              "1 error  cpu 2/2  gpu 0…", "best val_acc 0.8912", "     trial 00007  itera…",
              "     hidden=[128,64]", "     lr=0.002769  optim…", "asha up to 9; rung 1: 1…",
              "trial  iter  val_acc", "00012   3/9   0.8712", "00013     -        -",
              "error trial 00005: on p…", "…fashion/00005/error.txt"});
}

TEST_CASE("the same in a wide window", "[progress_renderer]") {
  const Lines lines = render(sample_progress(), 300, 24, Charset::unicode);
  REQUIRE(lines.size() == 10);
  std::string bar;
  for (int i = 0; i < 17; ++i) bar += "█";
  for (int i = 17; i < 40; ++i) bar += "░";
  CHECK(lines[0] == bar + "  12/27 trials  44 %  3:12  about 4:05 left");
}

TEST_CASE("nodes of other machines are listed, with what of them is in use",
          "[progress_renderer]") {
  const auto node = [](std::uint64_t id, bool is_local) {
    NodeProgress node;
    node.id = NodeId(id);
    node.name = "host" + std::to_string(id);
    node.is_local = is_local;
    node.resources.set("cpu", 4000);
    node.resources_in_use.set("cpu", 1000 * static_cast<std::int64_t>(id));
    return node;
  };
  Progress progress = sample_progress();
  progress.nodes = {node(0, true)};
  CHECK(render(progress, 80) == render(sample_progress(), 80));
  progress.nodes.push_back(node(1, false));
  const Lines lines = render(progress, 80);
  REQUIRE(lines.size() == 12);
  CHECK(lines[2] == "node 0 host0  cpu 0/4");
  CHECK(lines[3] == "node 1 host1  cpu 1/4");
  for (std::uint64_t id = 2; id < 20; ++id) progress.nodes.push_back(node(id, false));
  const Lines many = render(progress, 80, 40);
  REQUIRE(many.size() == 18);
  CHECK(many[8] == "node 6 host6  cpu 6/4");
  CHECK(many[9] == "     and 13 more nodes");
}

TEST_CASE("a low window shows what matters most", "[progress_renderer]") {
  const Progress progress = sample_progress();
  const auto first_words = [&](std::size_t rows) {
    Lines words;
    for (const std::string& line : render(progress, 80, rows)) {
      words.push_back(line.substr(0, line.find(' ')));
    }
    return words;
  };
  CHECK(first_words(0).empty());
  CHECK(first_words(1) == Lines{"[###############--------------------]"});
  CHECK(first_words(4) == Lines{"[###############--------------------]", "2", "best", "error"});
  CHECK(first_words(5) == Lines{"[###############--------------------]", "2", "best", "", "error"});
  CHECK(first_words(6) ==
        Lines{"[###############--------------------]", "2", "best", "trial", "00012", "error"});
}

TEST_CASE("no window is too small, none too large", "[progress_renderer]") {
  Progress progress = sample_progress();
  progress.name = "größe";
  progress.best->config = Config(Json{{"学習率", 0.1}, {"e\xCC\x81", "\x1b[31m"}});
  progress.rows[0].config = progress.best->config;
  progress.rows[0].metrics.set("学習率の値とその他の長い名前", 0.5);
  progress.failures[0].error =
      "学習率の値とその他の長い名前 and more of it, until the line is full";
  progress.waiting = "no room on any node";
  for (const Charset charset : {Charset::ascii, Charset::unicode}) {
    for (std::size_t columns = 1; columns <= 300; columns += columns < 90 ? 1 : 7) {
      for (const std::size_t rows : {0, 1, 2, 3, 5, 8, 13, 40}) {
        const Lines lines = render(progress, columns, rows, charset);
        CHECK(lines.size() <= rows);
        for (const std::string& line : lines) {
          INFO(columns << " columns: " << line);
          CHECK(display_width(line) <= columns);
          CHECK(line.find('\x1b') == std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("colours change no text", "[progress_renderer]") {
  const Progress progress = sample_progress();
  for (const std::size_t columns : {20, 40, 80, 200}) {
    const Lines plain = render(progress, columns);
    const Lines colored =
        render_progress(progress, {.columns = columns, .rows = 24, .colors = Colors::on});
    REQUIRE(colored.size() == plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      std::string text;
      std::size_t begin = 0;
      for (std::size_t at = 0; (at = colored[i].find('\x1b', begin)) != std::string::npos;) {
        text += colored[i].substr(begin, at - begin);
        begin = colored[i].find('m', at) + 1;
      }
      CHECK(text + colored[i].substr(begin) == plain[i]);
    }
  }
}

TEST_CASE("before the first result, and without a metric", "[progress_renderer]") {
  Progress progress;
  progress.objective = Objective{"loss", Mode::min};
  progress.counts.running = 1;
  progress.rows = {sample_trial(0, 0, {})};
  progress.elapsed = std::chrono::seconds(3);
  CHECK(render(progress, 60) ==
        Lines{"1 trials  3.0 s", "1 running", "no loss yet", "trial  iter  time  loss  config",
              "00000     -     -     -  hidden=[128,64] lr=0.002769 opti..."});
  progress.objective.reset();
  progress.rows = {sample_trial(0, 2, {{"reward", 3}})};
  CHECK(render(progress, 60) ==
        Lines{"1 trials  3.0 s", "1 running", "trial  iter   time  reward  config",
              "00000     2  3.0 s       3  hidden=[128,64] lr=0.002769 o..."});
  CHECK(render(Progress(), 40) == Lines{"0 trials  0 ms"});
}

TEST_CASE("thousands of trials fill a table of twenty", "[progress_renderer]") {
  Progress progress = sample_progress();
  progress.counts.running = 5000;
  progress.rows.clear();
  for (std::uint64_t id = 0; id < 64; ++id) {
    progress.rows.push_back(sample_trial(100000 + id, 1, {{"val_acc", NAN}}));
  }
  const Lines lines = render(progress, 40, 200);
  CHECK(lines.size() < 40);
  CHECK(std::count(lines.begin(), lines.end(), "... 4980 more running") == 1);
  CHECK(std::count(lines.begin(), lines.end(), "100019   1/9  1.5 s      nan") == 1);
  // With less room the table says how many it leaves out all the same.
  const Lines low = render(progress, 40, 14);
  CHECK(low.size() == 14);
  CHECK(std::count_if(low.begin(), low.end(), [](const std::string& line) {
          return line.find(" more running") != std::string::npos;
        }) == 1);
}

TEST_CASE("all failed, all paused", "[progress_renderer]") {
  Progress progress = sample_progress();
  progress.rows.clear();
  progress.best.reset();
  progress.remaining.reset();
  progress.counts = {.error = 27};
  progress.fraction = 1;
  progress.scheduler.clear();
  CHECK(render(progress, 60) ==
        Lines{"[###############################]  27/27 trials  100 %  3:12",
              "27 error  cpu 2/2  gpu 0.5/1", "no val_acc yet", "error trial 00005: on purpose",
              "      /results/fashion/00005/error.txt"});
  progress.failures.clear();
  progress.counts = {.paused = 4};
  progress.fraction = 0;
  progress.waiting = "no room on any node";
  CHECK(render(progress, 60) ==
        Lines{"[----------------------------------]  0/27 trials  0 %  3:12",
              "waiting: no room on any node", "4 paused  cpu 2/2  gpu 0.5/1", "no val_acc yet"});
}

TEST_CASE("in one line", "[progress_renderer]") {
  CHECK(render_line(sample_progress(), Charset::ascii) ==
        "tune: 12/27 trials  44 %  3:12, about 4:05 left  2 running  1 paused  3 pending  "
        "11 terminated  1 error  cpu 2/2  gpu 0.5/1  best val_acc 0.8912 (trial 00007)");
  CHECK(render_line(Progress(), Charset::ascii) == "tune: 0 trials  0 ms");
  CHECK(render_start(sample_progress(), Charset::ascii) ==
        "tune: fashion, 27 trials, results in /results/fashion");
}

TEST_CASE("the summary has what one wants to copy in full", "[progress_renderer]") {
  Progress progress = sample_progress();
  progress.counts = {.terminated = 26, .error = 1};
  progress.end = ExperimentEnd{};
  progress.end->reason = "all trials ended";
  CHECK(render_summary(progress, {.columns = 20}) ==
        Lines{"ended    27 trials in 3:12: 26 terminated, 1 error",
              "         9 stopped by asha, 2 stop criterion training_iteration >= 9",
              "best     trial 00007, val_acc 0.8912 at iteration 9",
              R"(config   {"hidden":[128,64],"lr":0.00276912,"optimizer":"adam"})",
              "metrics  loss 0.33", "error    trial 00005: on purpose",
              "         /results/fashion/00005/error.txt", "results  /results/fashion"});
}

TEST_CASE("PE-04: what is large in a configuration does not fill the screen",
          "[progress_renderer][PE-04]") {
  Progress progress = sample_progress();
  progress.best->config = Config(Json{
      {"lr", 0.5}, {"table", std::vector<double>(60'000, 1.5)}, {"text", std::string(5000, 'x')}});
  for (const char* name : {"table", "text"}) {
    CHECK(parameter_text(progress.best->config.json().at(name)).size() < 1100);
  }
  progress.end = ExperimentEnd{};
  const Lines lines = render_summary(progress, {.columns = 80});
  const auto config = std::find(lines.begin(), lines.end(), R"(config   {"lr":0.5})");
  REQUIRE(config != lines.end());
  CHECK(*std::next(config) == "         and what is large in it");
}

TEST_CASE("the summary of a search that went wrong", "[progress_renderer]") {
  Progress progress = sample_progress();
  progress.best.reset();
  progress.reasons.clear();
  progress.counts = {.pending = 1, .running = 1, .error = 1000};
  progress.failures.assign(8, progress.failures[0]);
  progress.end = ExperimentEnd{};
  progress.end->reason = "the storage failed";
  progress.end->error = "cannot write /x: no space";
  const Lines lines = render_summary(progress, {});
  REQUIRE(lines.size() == 16);
  CHECK(lines[0] == "ended    1002 trials in 3:12: 1000 error, 2 unfinished");
  CHECK(lines[1] == "reason   the storage failed");
  CHECK(lines[2] == "fault    cannot write /x: no space");
  CHECK(lines[3] == "best     none: no trial has a finite val_acc");
  CHECK(lines[14] == "         and 995 more");
}

TEST_CASE("the summary of an interrupted search", "[progress_renderer]") {
  Progress progress = sample_progress();
  progress.counts = {.pending = 1, .paused = 2, .error = 1};
  progress.end = ExperimentEnd{};
  progress.end->reason = "trial 5 failed, and fail_fast is set";
  progress.end->interrupted = true;
  const Lines lines = render_summary(progress, {});
  CHECK(lines.at(0) == "ended    4 trials in 3:12: 1 error, 3 unfinished");
  CHECK(lines.at(2) == "reason   interrupted: trial 5 failed, and fail_fast is set");
}

}  // namespace
}  // namespace tune::report
