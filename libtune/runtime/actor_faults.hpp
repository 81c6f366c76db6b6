#pragma once

#include <exception>
#include <string>
#include <utility>

#include <caf/all.hpp>

namespace tune::runtime {

/// The reason with which an actor of ours ends that met a fault of ours; the text goes with it.
[[nodiscard]] inline caf::error internal_fault(std::string text) {
  return caf::make_error(caf::sec::runtime_error, std::move(text));
}

/// Sets up what all our actors have in common: a fault ends the actor with its text, and so all
/// that are linked to it; what an actor does not understand is dropped.
template <class Actor>
void watch_for_faults(Actor* self) {
  self->set_default_handler(caf::drop);
  self->set_down_handler([](const caf::down_msg&) {});
  self->set_exception_handler([](std::exception_ptr& fault) -> caf::error {
    try {
      std::rethrow_exception(fault);
    } catch (const std::exception& e) {
      return internal_fault(e.what());
    } catch (...) {
      return internal_fault("unknown exception");
    }
  });
}

}  // namespace tune::runtime
