#include <tune/searcher.hpp>

#include <stdexcept>
#include <typeinfo>

#include <tune/trainable.hpp>

namespace tune {

Searcher::~Searcher() = default;

void Searcher::on_trial_added(TrialId, const Config&) {}

void Searcher::on_trial_result(TrialId, const Config&, const Result&) {}

void Searcher::on_trial_completed(TrialId, const Config&, const Result&) {}

void Searcher::on_trial_failed(TrialId, const Config&, bool) {}

std::string Searcher::take_note() { return {}; }

bool Searcher::wants_results() const { return true; }

std::optional<Objective> Searcher::objective() const { return std::nullopt; }

bool Searcher::needs_metric() const { return true; }

bool Searcher::enumerates() const { return false; }

bool Searcher::is_repetition() const { return false; }

Json Searcher::save() const { return nullptr; }

void Searcher::restore(const Json& state) {
  // As for schedulers: a state that was saved and is not taken back would be lost in silence.
  if (!state.is_null()) {
    throw std::logic_error("searcher " + detail::unqualified_name(typeid(*this)) +
                           " has a saved state but does not override restore");
  }
}

Json Searcher::options() const { return {{"name", detail::unqualified_name(typeid(*this))}}; }

}  // namespace tune
