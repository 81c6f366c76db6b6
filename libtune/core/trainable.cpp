#include <tune/trainable.hpp>

#include <cxxabi.h>

#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace tune {
namespace {

[[noreturn]] void refuse_checkpoints(const Trainable& trainable, const std::string& method) {
  throw std::logic_error("trainable " + detail::unqualified_name(typeid(trainable)) +
                         " does not support checkpoints: it does not override " + method);
}

// Where the last name of `qualified` begins: after the last "::" outside brackets.
std::size_t last_name_begin(std::string_view qualified) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < qualified.size(); ++i) {
    const char c = qualified[i];
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
    if (depth == 0 && c == ':') begin = i + 1;
  }
  return begin;
}

}  // namespace

TrialWorkers& TrialContext::workers() const {
  if (worker_group) return *worker_group;
  throw std::logic_error("trial " + trial_name +
                         " has no parallel workers: its resources.workers asked for none");
}

Trainable::~Trainable() = default;

void Trainable::setup(const Config&) {}

void Trainable::save_checkpoint(const std::filesystem::path&) {
  refuse_checkpoints(*this, "save_checkpoint");
}

void Trainable::load_checkpoint(const std::filesystem::path&) {
  refuse_checkpoints(*this, "load_checkpoint");
}

bool Trainable::reset_config(const Config&) { return false; }

void Trainable::cleanup() {}

namespace detail {

std::string unqualified_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  const std::string_view qualified = status == 0 ? demangled.get() : type.name();
  return std::string(qualified.substr(last_name_begin(qualified)));
}

}  // namespace detail
}  // namespace tune
