#include "stage.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tune::sim {

Stage::Stage(StageSetup setup, const Cluster& cluster, Workload& workload,
             const SimulationOptions& options)
    : setup_(std::move(setup)),
      cluster_(cluster),
      workload_(workload),
      faults_(cluster, cluster.seed.value_or(setup_.seed)),
      can_save_(workload.saves_checkpoints()),
      nodes_(nodes_of(cluster)),
      joinings_(nodes_.size()),
      joined_(nodes_.size()),
      grid_(std::make_shared<MemoryGrid>(options.keep_history)),
      callbacks_(std::move(setup_.callbacks), [this](std::string text) { warn(std::move(text)); }),
      timeline_(setup_.objective) {
  for (const LocalResources& node : nodes_) capacity_ += ResourceAmounts(node);
}

Simulation Stage::run(ExperimentInfo info) {
  callbacks_.begin(info);
  for (std::size_t i = 0; i < joinings_.size(); ++i) join(NodeId{i});
  loop();
  callbacks_.end(info, *end_);
  out_.results = ResultGrid(std::move(info), *end_, grid_);
  out_.timeline = timeline_.finish(now_s_);
  return std::move(out_);
}

void Stage::loop() {
  while (!end_) {
    const bool is_driver_due = inbox_begin_ < inbox_.size() || !commands_.empty();
    if (is_driver_due &&
        (heap_.empty() || driver_free_s_ <= heap_.first().time_s || driver_free_s_ <= now_s_)) {
      now_s_ = std::max(now_s_, driver_free_s_);
      drain_inbox();
      continue;
    }
    if (!is_driver_due && is_stranded()) {
      if (std::exchange(is_given_up_, true)) throw std::logic_error("simulate: no end");
      inbox_.emplace_back(
          engine::StopRequested{"nothing can happen any more: " + setup_.engine->waiting_reason(),
                                /*interrupts=*/true});
      continue;
    }
    if (heap_.empty()) throw std::logic_error("simulate: a trial waits, and nothing will come");
    const auto due = heap_.take();
    if (due.what.what == What::node_lost) --losses_due_;
    now_s_ = due.time_s;
    on_due(due.what);
  }
}

// True if all that is still to come are losses of nodes.
bool Stage::is_stranded() const {
  const bool only_losses = heap_.empty() || losses_due_ == heap_.size();
  return only_losses && place_of_.empty();
}

void Stage::on_due(const Item& item) {
  switch (item.what) {
    case What::trial:
      if (running_[item.place].generation == item.generation) on_due(running_[item.place]);
      break;
    case What::timer:
      inbox_.emplace_back(engine::TimerFired{item.id});
      break;
    case What::node_lost:
      lose(NodeId{item.id});
      break;
    case What::node_back:
      join(NodeId{item.id});
      break;
    case What::suggestion:
      inbox_.emplace_back(std::move(*std::exchange(answer_, std::nullopt)));
      break;
  }
}

// The driver does one thing after the other; what it decides takes effect when it is through.
void Stage::drain_inbox() {
  carry_out_all();
  while (inbox_begin_ < inbox_.size() && driver_free_s_ <= now_s_ && !end_) {
    handle(std::move(inbox_[inbox_begin_++]));  // which puts nothing into the inbox
    if (cluster_.decision_s > 0) {
      driver_free_s_ = now_s_ + cluster_.decision_s;
    } else {
      carry_out_all();
    }
  }
  if (inbox_begin_ < inbox_.size()) return;
  inbox_.clear();
  inbox_begin_ = 0;
}

void Stage::handle(engine::Event&& event) {
  ++out_.events;
  setup_.engine->handle(std::move(event), Time(now_s_), commands_);
  (void)setup_.engine->take_decisions();
}

void Stage::join(NodeId node) {
  const std::uint64_t joining = joined_[node.value()]++;
  joinings_[node.value()] = joining;
  const LocalResources& offered = nodes_[node.value()];
  inbox_.emplace_back(engine::NodeJoined{node, "node" + std::to_string(node.value()),
                                         ResourceAmounts(offered), offered.labels});
  const double lost_after = faults_.lost_after(node, joining);
  if (lost_after == ClusterFaults::never) return;
  ++losses_due_;
  heap_.put(now_s_ + lost_after, {.what = What::node_lost, .id = node.value()});
}

void Stage::lose(NodeId node) {
  const std::uint64_t joining = *std::exchange(joinings_[node.value()], std::nullopt);
  for (Running& trial : running_) {
    if (trial.is_live && trial.launch.node == node) release(trial, SimulatedEnd::lost_with_node);
  }
  inbox_.emplace_back(engine::NodeLeft{node});
  const double back_after = faults_.back_after(node, joining);
  if (back_after == ClusterFaults::never) return;
  heap_.put(now_s_ + back_after, {.what = What::node_back, .id = node.value()});
}

void Stage::warn(std::string text) {
  constexpr std::size_t most_warnings = 100;
  if (out_.warnings.size() < most_warnings) out_.warnings.push_back(std::move(text));
}

void Stage::note_state() {
  const engine::Engine::Counts counts = setup_.engine->counts();
  timeline_.change(
      now_s_, {in_use_, static_cast<double>(counts.running), static_cast<double>(counts.pending),
               static_cast<double>(counts.paused)});
}

}  // namespace tune::sim
