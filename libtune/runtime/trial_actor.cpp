#include "runtime/trial_actor.hpp"

#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include <caf/all.hpp>

#include "actor_faults.hpp"
#include "core/number_text.hpp"

namespace tune::runtime {
namespace {

constexpr std::chrono::duration<double> longest_timer{10.0 * 365 * 24 * 3600};

}  // namespace

TrialWatch::~TrialWatch() {
  if (link_ && !link_->has_ended()) give_up("the experiment was broken off");
}

TrialActor::behavior_type TrialWatch::make_behavior(TrialWatchSetup setup) {
  setup_ = std::move(setup);
  return {
      [this](TrialOrders& orders) {
        if (!link_) return;  // the trial has ended meanwhile
        for (TrialOrder& order : orders.orders) follow(order);
      },
      [this](StartOnThread& start) { this->start(std::move(start.run)); },
      [this](const TrialSpoke&) { pass_on_news(); },
      [this](const GraceTimer&) { on_timer(); },
      [this](const EndNode&) { self_->quit(); },
  };
}

void TrialWatch::start(TrialRun run) {
  const engine::Launch& launch = run.launch;
  // The link's handle on this actor goes with the trial's end, which so frees both.
  link_ = std::make_shared<TrialLink>(
      TrialLink::Options{
          .trial = launch.trial, .incarnation = launch.incarnation, .horizon = launch.horizon},
      [actor = TrialActor(self_)] { caf::anon_send(actor, TrialSpoke{}); });
  try {
    setup_.pool->start(std::move(run), link_);
  } catch (const std::system_error& error) {
    link_->tell(engine::Started{});
    link_->tell(engine::Ended{engine::EndKind::failed,
                              std::string("cannot start a thread: ") + error.what()});
  }
}

void TrialWatch::follow(TrialOrder& order) {
  std::visit(
      [this](auto& o) {
        using Order = std::decay_t<decltype(o)>;
        if constexpr (std::is_same_v<Order, engine::Proceed>) {
          link_->proceed(std::move(o.horizon));
        } else if constexpr (std::is_same_v<Order, engine::Save>) {
          link_->save();
        } else if constexpr (std::is_same_v<Order, engine::Pause>) {
          link_->pause();
          start_grace();
        } else if constexpr (std::is_same_v<Order, engine::Stop>) {
          link_->stop(o.save);
          start_grace();
        } else {
          static_assert(std::is_same_v<Order, Acknowledgement>);
          link_->acknowledge(o.count);
        }
      },
      order);
}

// A trial most often ends at once: so one timer serves for many of them.
void TrialWatch::start_grace() {
  if (setup_.stop_grace > longest_timer) return;
  const auto grace = std::chrono::duration_cast<Clock::duration_type>(setup_.stop_grace);
  has_to_end_ = self_->clock().now() + grace;
  if (!is_timer_set_) set_timer(grace);
}

void TrialWatch::set_timer(Clock::duration_type delay) {
  is_timer_set_ = true;
  self_->delayed_send(self_, delay, GraceTimer{});
}

void TrialWatch::on_timer() {
  is_timer_set_ = false;
  if (!has_to_end_) return;
  const Clock::duration_type left = *has_to_end_ - self_->clock().now();
  if (left > Clock::duration_type(0)) return set_timer(left);
  has_to_end_.reset();
  give_up("did not end within " + core::number_text(setup_.stop_grace.count()) +
          " s of being told to, or of saying that it does");
  pass_on_news();
}

void TrialWatch::give_up(std::string message) {
  link_->abandon(std::move(message));
  setup_.pool->abandon(*link_);
}

void TrialWatch::pass_on_news() {
  if (!link_) return;
  std::vector<engine::TrialMessage> messages = link_->take();
  if (!messages.empty() && std::holds_alternative<engine::Ended>(messages.back().report)) {
    has_to_end_.reset();
    link_.reset();
  } else if (!has_to_end_ && link_->is_ending()) {
    start_grace();
  }
  if (!messages.empty()) self_->send(setup_.agent, TrialNews{std::move(messages)});
}

TrialActor::behavior_type watch_trials(TrialActor::stateful_pointer<TrialWatch> self,
                                       TrialWatchSetup setup) {
  watch_for_faults(self);
  return self->state.make_behavior(std::move(setup));
}

}  // namespace tune::runtime
