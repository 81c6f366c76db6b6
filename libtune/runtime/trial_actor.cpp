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

TrialActor::behavior_type TrialWatch::make_behavior(TrialSetup setup) {
  setup_ = std::move(setup);
  const engine::Launch& launch = setup_.run.launch;
  // The link's handle on this actor goes with the trial's end, which so frees both.
  link_ = std::make_shared<TrialLink>(
      TrialLink::Options{
          .trial = launch.trial, .incarnation = launch.incarnation, .horizon = launch.horizon},
      [actor = TrialActor(self_)] { caf::anon_send(actor, TrialSpoke{}); });
  try {
    setup_.pool->start(std::move(setup_.run), link_);
  } catch (const std::system_error& error) {
    link_->tell(engine::Started{});
    link_->tell(engine::Ended{engine::EndKind::failed,
                              std::string("cannot start a thread: ") + error.what()});
  }
  return {
      [this](TrialOrders& orders) {
        for (TrialOrder& order : orders.orders) follow(order);
      },
      [this](const TrialSpoke&) { pass_on_news(); },
      [this](const GraceOver& over) {
        if (over.order != end_orders_) return;
        give_up("did not end within " + core::number_text(setup_.stop_grace.count()) +
                " s of being told to, or of saying that it does");
        pass_on_news();
      },
  };
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

void TrialWatch::start_grace() {
  ++end_orders_;
  if (setup_.stop_grace > longest_timer) return;
  self_->delayed_send(self_,
                      std::chrono::duration_cast<std::chrono::nanoseconds>(setup_.stop_grace),
                      GraceOver{end_orders_});
}

void TrialWatch::give_up(std::string message) {
  link_->abandon(std::move(message));
  setup_.pool->abandon(*link_);
}

void TrialWatch::pass_on_news() {
  if (end_orders_ == 0 && link_->is_ending()) start_grace();
  std::vector<engine::TrialMessage> messages = link_->take();
  if (messages.empty()) return;
  const bool is_over = std::holds_alternative<engine::Ended>(messages.back().report);
  self_->send(setup_.agent, TrialNews{std::move(messages)});
  if (is_over) self_->quit();
}

TrialActor::behavior_type watch_trial(TrialActor::stateful_pointer<TrialWatch> self,
                                      TrialSetup setup) {
  watch_for_faults(self);
  return self->state.make_behavior(std::move(setup));
}

}  // namespace tune::runtime
