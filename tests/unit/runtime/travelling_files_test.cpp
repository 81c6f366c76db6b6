#include "runtime/travelling_files.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <catch2/catch.hpp>

#include "runtime/agent_actor.hpp"
#include "scripted_trainable.hpp"
#include "support/temporary_folder.hpp"

namespace tune::runtime {
namespace {

/// The files' way, on which a test holds them up: it is asked, and answers with a fault or "".
class AskedFiles final : public TravellingFiles {
 public:
  AskedFiles(AgentActor::pointer agent, caf::actor test) : agent_(agent), test_(std::move(test)) {}
  void bring(const engine::Launch& launch, Done done) override {
    ask("bring for " + launch.trial_name, std::move(done));
  }
  void deliver(const engine::TrialMessage& message, Done done) override {
    const auto* const stored = std::get_if<engine::CheckpointStored>(&message.report);
    ask(stored != nullptr ? "deliver " + stored->directory_name : "deliver what it printed",
        std::move(done));
  }
  void deliver_worker(const std::string& trial_name, std::uint32_t, std::size_t,
                      Done done) override {
    ask("deliver what a worker of " + trial_name + " printed", std::move(done));
  }
  void take_from(const FileServerActor&) override {}
  void forget(const engine::CheckpointLocation&) override {}

 private:
  void ask(const std::string& text, Done done) {
    agent_->request(test_, caf::infinite, text)
        .then([done = std::move(done)](const std::string& fault) {
          const ErrorCode code = fault == "damaged" ? ErrorCode::damaged : ErrorCode::io;
          done(fault.empty() ? std::nullopt : std::optional(Error{code, fault}));
        });
  }

  AgentActor::pointer agent_;
  caf::actor test_;
};

UpstreamActor::behavior_type pass_news_on(UpstreamActor::pointer, const caf::actor& test) {
  return {[](const NodeHello&) {},
          [test](NodeNews& news) { caf::anon_send(test, std::move(news)); },
          [test](NodeWarning& warning) { caf::anon_send(test, std::move(warning)); },
          [](const NodeNote&) {}, [](const NodeLetter&) {}};
}

/// An agent that runs trials of two steps, with a checkpoint after each, and does not see the
/// driver's files.
class FarAgent {
 public:
  FarAgent() {
    script_.step = done_at(2);
    threads_ = std::make_shared<RunnerPool>(scripted(script_));
    const auto test = caf::actor_cast<caf::actor>(self_);
    AgentSetup setup;
    setup.driver = system_.spawn(pass_news_on, test);
    setup.threads = threads_;
    setup.experiment_path = folder_.path();
    setup.checkpoint.every = 1;
    setup.make_files = [test](AgentActor::pointer agent) {
      return std::make_unique<AskedFiles>(agent, test);
    };
    agent_ = self_->spawn<caf::monitored>(run_agent, std::move(setup));
  }
  ~FarAgent() {
    self_->send(agent_, EndNode{});
    bool has_ended = false;
    while (!has_ended) {
      self_->receive([&](const caf::down_msg&) { has_ended = true; },
                     [](const std::string&) { return std::string(); }, [](const NodeNews&) {},
                     [](const NodeWarning&) {});
    }
  }
  FarAgent(const FarAgent&) = delete;
  FarAgent& operator=(const FarAgent&) = delete;

  void launch() {
    engine::Launch launch;
    launch.incarnation = 1;
    launch.trial_name = "00000";
    NodeTurn turn;
    turn.commands.emplace_back(std::move(launch));
    self_->send(agent_, std::move(turn));
  }
  /// Waits for the next question, which must be this one, and answers.
  void answer(const std::string& question, const std::string& fault = {}) {
    bool was_asked = false;
    while (!was_asked) {
      self_->receive(
          [&](const std::string& asked) {
            CHECK(asked == question);
            was_asked = true;
            return fault;
          },
          [&](NodeNews& more) { take(more); });
    }
  }
  /// Waits for the trial's end.
  std::vector<engine::TrialMessage> finish() {
    while (news.empty() || !std::holds_alternative<engine::Ended>(news.back().report)) {
      self_->receive([&](NodeNews& more) { take(more); },
                     [&](const NodeWarning& warning) { warnings.push_back(warning.text); });
    }
    return news;
  }
  template <class Report>
  [[nodiscard]] std::size_t count() const {
    std::size_t count = 0;
    for (const auto& told : news) count += std::holds_alternative<Report>(told.report);
    return count;
  }

  std::vector<engine::TrialMessage> news;
  std::vector<std::string> warnings;

 private:
  struct Config : caf::actor_system_config {
    Config() { load<caf::io::middleman>(); }
  };
  void take(NodeNews& more) {
    NodeTurn turn;
    for (auto& told : more.messages) {
      turn.acknowledgements.push_back({{}, told.trial, told.incarnation, told.sequence + 1});
      news.push_back(std::move(told));
    }
    self_->send(agent_, std::move(turn));
  }

  test::TemporaryFolder folder_;
  Script script_;
  std::shared_ptr<RunnerPool> threads_;
  Config config_;
  caf::actor_system system_{config_};
  caf::scoped_actor self_{system_};
  AgentActor agent_;
};

TEST_CASE("the driver hears of a checkpoint once its files are there, and of all in order",
          "[travelling_files]") {
  FarAgent agent;
  agent.launch();
  agent.answer("bring for 00000");
  agent.answer("deliver checkpoint_000001");
  CHECK(agent.count<engine::CheckpointStored>() == 0);
  agent.answer("deliver checkpoint_000002", "no way there");
  agent.answer("deliver what it printed", "nor for that");
  const auto news = agent.finish();
  REQUIRE(news.size() == 6);
  for (std::size_t i = 0; i < news.size(); ++i) CHECK(news[i].sequence == i);
  CHECK(std::holds_alternative<engine::CheckpointStored>(news[2].report));
  CHECK(std::holds_alternative<engine::Reported>(news[3].report));
  const auto* failed = std::get_if<engine::CheckpointFailed>(&news[4].report);
  REQUIRE(failed != nullptr);
  CHECK(failed->training_iteration == 2);
  CHECK(failed->message == "no way there");
  CHECK(std::get<engine::Ended>(news[5].report).kind == engine::EndKind::finished);
  CHECK(agent.warnings == std::vector<std::string>{"nor for that"});
}

TEST_CASE("a trial whose files do not come ends before it has begun", "[travelling_files]") {
  FarAgent agent;
  agent.launch();
  const bool is_damaged = GENERATE(true, false);
  agent.answer("bring for 00000", is_damaged ? "damaged" : "the driver is gone");
  const auto news = agent.finish();
  REQUIRE(news.size() == 1);
  const auto& end = std::get<engine::Ended>(news[0].report);
  CHECK(end.kind == (is_damaged ? engine::EndKind::damaged : engine::EndKind::failed));
  CHECK(end.message == (is_damaged ? "damaged" : "the driver is gone"));
  CHECK(news[0].sequence == 0);
}

}  // namespace
}  // namespace tune::runtime
