#include <tune/registry.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "core/number_text.hpp"

namespace tune {
namespace {

using PlainFunction = void (*)(const Config&);

// Whether two functions are known to be the same: equal plain functions, or objects of one lambda
// or functor type (each class has a factory type of its own).
template <class R, class... Args>
bool is_same_function(const std::function<R(Args...)>& a, const std::function<R(Args...)>& b) {
  using Plain = R (*)(Args...);
  const auto* plain_a = a.template target<Plain>();
  const auto* plain_b = b.template target<Plain>();
  if (plain_a != nullptr && plain_b != nullptr) return *plain_a == *plain_b;
  return a.target_type() == b.target_type();
}

bool is_same_function(const TrainableSpec& a, const TrainableSpec& b) {
  return a.checkpoints == b.checkpoints && is_same_function(a.make, b.make) &&
         is_same_function(a.function, b.function);
}

std::string quoted_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + core::value_text(name);
  }
  return text.empty() ? "none" : text;
}

// What is registered of one kind, by name. Plugins and the program may register from any thread.
template <class Entry>
class Registry {
 public:
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  void add(std::string name, Entry entry) {
    if (name.empty()) throw std::invalid_argument("a " + kind_ + " is registered without a name");
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = entries_.try_emplace(std::move(name), entry);
    if (!is_new && !is_same_function(place->second, entry)) {
      throw std::invalid_argument(kind_ + " " + core::value_text(place->first) +
                                  " is registered twice, with different code");
    }
  }

  [[nodiscard]] Entry find(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    if (found != entries_.end()) return found->second;
    throw std::invalid_argument("no " + kind_ + " " + core::value_text(name) +
                                " is registered; there are: " + quoted_names(names_locked()));
  }

  // The first in the order of names for which `matches` holds.
  template <class Predicate>
  [[nodiscard]] std::optional<Entry> find_if(const Predicate& matches) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : entries_) {
      if (matches(entry)) return entry;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::vector<std::string> names() const {
    const std::lock_guard lock(mutex_);
    return names_locked();
  }

 private:
  [[nodiscard]] std::vector<std::string> names_locked() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }

  std::string kind_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

// Local statics, so that they are there for the static initialisers that register.
Registry<TrainableSpec>& trainables() {
  static Registry<TrainableSpec> registry("trainable");
  return registry;
}

// By TrainableSpec::key: what a worker process can make.
struct Keys {
  std::mutex mutex;
  std::map<std::string, TrainableSpec> specs;
};
Keys& keys() {
  static Keys keys;
  return keys;
}

Registry<SchedulerFactory>& scheduler_factories() {
  static Registry<SchedulerFactory> registry("scheduler");
  return registry;
}

Registry<SearcherFactory>& searcher_factories() {
  static Registry<SearcherFactory> registry("searcher");
  return registry;
}

// options() gives the name among the options; here it is checked and taken out.
Json options_without_name(const std::string& kind, const std::string& name, Json options) {
  if (options.is_null()) return Json::object();
  if (!options.is_object()) {
    throw std::invalid_argument("options of " + kind + " " + core::value_text(name) +
                                " must be a JSON object, are " + core::value_text(options));
  }
  const auto given = options.find("name");
  if (given != options.end()) {
    if (*given != name) {
      throw std::invalid_argument("options of " + kind + " " + core::value_text(name) +
                                  " are for another: name is " + core::value_text(*given));
    }
    options.erase(given);
  }
  return options;
}

template <class Product>
std::unique_ptr<Product> checked_product(const std::string& kind, const std::string& name,
                                         std::unique_ptr<Product> product) {
  if (!product) {
    throw std::invalid_argument("the factory of " + kind + " " + core::value_text(name) +
                                " made nothing");
  }
  return product;
}

}  // namespace

bool register_trainable(TrainableSpec spec) {
  if (static_cast<bool>(spec.make) == static_cast<bool>(spec.function)) {
    throw std::invalid_argument("trainable " + core::value_text(spec.name) +
                                " must have either a class or a function");
  }
  std::string name = spec.name;
  spec.key = "name:" + name;
  trainables().add(std::move(name), std::move(spec));
  return true;
}

bool register_function(std::string name, PlainFunction function, FunctionOptions options) {
  if (function == nullptr) {
    throw std::invalid_argument("train function " + core::value_text(name) + " is null");
  }
  TrainableSpec spec;
  spec.name = std::move(name);
  spec.checkpoints = options.checkpoints;
  spec.function = function;
  return register_trainable(std::move(spec));
}

bool register_scheduler(std::string name, SchedulerFactory factory) {
  if (!factory) throw std::invalid_argument("scheduler " + core::value_text(name) + " is null");
  scheduler_factories().add(std::move(name), std::move(factory));
  return true;
}

bool register_searcher(std::string name, SearcherFactory factory) {
  if (!factory) throw std::invalid_argument("searcher " + core::value_text(name) + " is null");
  searcher_factories().add(std::move(name), std::move(factory));
  return true;
}

TrainableSpec find_trainable(const std::string& name) { return trainables().find(name); }

TrainableSpec find_function(PlainFunction function) {
  const auto is_it = [function](const TrainableSpec& spec) {
    const auto* registered = spec.function.target<PlainFunction>();
    return registered != nullptr && *registered == function;
  };
  if (std::optional<TrainableSpec> spec = trainables().find_if(is_it)) return *std::move(spec);
  TrainableSpec spec;
  spec.name = "function";
  spec.function = function;
  return spec;
}

std::unique_ptr<TrialScheduler> make_scheduler(const std::string& name, const Json& options) {
  const SchedulerFactory factory = scheduler_factories().find(name);
  return checked_product("scheduler", name,
                         factory(options_without_name("scheduler", name, options)));
}

std::unique_ptr<Searcher> make_searcher(const std::string& name, const Json& options) {
  const SearcherFactory factory = searcher_factories().find(name);
  return checked_product("searcher", name,
                         factory(options_without_name("searcher", name, options)));
}

std::vector<std::string> trainable_names() { return trainables().names(); }

std::vector<std::string> scheduler_names() { return scheduler_factories().names(); }

std::vector<std::string> searcher_names() { return searcher_factories().names(); }

namespace detail {

std::string add_key(const std::type_info& type, TrainableSpec spec) {
  const std::lock_guard lock(keys().mutex);
  // Unnamed namespaces may give two types one name. The order is the same in every process.
  std::string key = "type:" + std::string(type.name());
  while (keys().specs.contains(key)) key += '+';
  spec.key = key;
  keys().specs.emplace(key, std::move(spec));
  return key;
}

TrainableSpec find_key(const std::string& key) {
  static const std::string by_name = "name:";
  if (key.starts_with(by_name)) return find_trainable(key.substr(by_name.size()));
  const std::lock_guard lock(keys().mutex);
  const auto found = keys().specs.find(key);
  if (found != keys().specs.end()) return found->second;
  throw std::invalid_argument("this program has no trainable of key " + core::value_text(key));
}

void refuse_options(const std::string& name, const Json& options) {
  const auto first = options.begin();
  throw std::invalid_argument(core::value_text(name) + " takes no options, got " +
                              core::value_text(first.key()) + ": " +
                              core::value_text(first.value()));
}

}  // namespace detail

}  // namespace tune
