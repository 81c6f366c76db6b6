#include "runtime/wire.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "wire_values.hpp"

namespace tune::runtime {
namespace {

using runtime::to_json;  // else those below would hide it

// Each kind of a variant has a name here, by its place; one that is added needs another.
constexpr const char* command_kinds[] = {"start", "order", "end", "letter"};
constexpr const char* order_kinds[] = {"proceed", "save", "pause", "stop", "acknowledgement"};
constexpr const char* report_kinds[] = {"hello", "news", "bye", "letter"};
constexpr const char* trial_report_kinds[] = {
    "started", "reported", "checkpoint", "checkpoint_failed",
    "warned",  "ended",    "saved",      "went_back"};
static_assert(std::size(command_kinds) == std::variant_size_v<WorkerCommand>);
static_assert(std::size(order_kinds) == std::variant_size_v<TrialOrder>);
static_assert(std::size(report_kinds) == std::variant_size_v<WorkerReport>);
static_assert(std::size(trial_report_kinds) == std::variant_size_v<engine::TrialReport>);

template <std::size_t count>
std::size_t kind_of(const Json& json, const char* const (&kinds)[count]) {
  const auto& kind = json.at("kind").get_ref<const std::string&>();
  for (std::size_t i = 0; i < count; ++i) {
    if (kind == kinds[i]) return i;
  }
  throw std::invalid_argument("a message of unknown kind \"" + kind + "\"");
}

// --- values

Json to_json(const engine::Horizon& horizon) {
  Json bounds = Json::array();
  for (const auto& bound : horizon.bounds) {
    bounds.push_back({bound.field, bound.value, bound.below, bound.ends});
  }
  return {{"every", horizon.every_result},
          {"bounds", std::move(bounds)},
          {"decided", horizon.decided_until},
          {"needs", horizon.first_needs}};
}

engine::Horizon horizon_from(const Json& json) {
  engine::Horizon horizon;
  json.at("every").get_to(horizon.every_result);
  json.at("decided").get_to(horizon.decided_until);
  json.at("needs").get_to(horizon.first_needs);
  for (const Json& bound : json.at("bounds")) {
    horizon.bounds.push_back({bound.at(0), bound.at(1), bound.at(2), bound.at(3)});
  }
  return horizon;
}

Json to_json(const Metrics& metrics) {
  Json list = Json::array();  // keeps the order
  for (const auto& [name, value] : metrics) list.push_back({name, value.json()});
  return list;
}

MetricValue metric_from(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  return json.get<std::string>();
}

Metrics metrics_from(const Json& json) {
  Metrics metrics;
  for (const Json& item : json) {
    metrics.set(item.at(0).get_ref<const std::string&>(), metric_from(item.at(1)));
  }
  return metrics;
}

Json to_json(const Result& result) {
  return {{"metrics", to_json(result.metrics)},     {"iteration", result.training_iteration},
          {"this_iter_s", result.time_this_iter_s}, {"total_s", result.time_total_s},
          {"timestamp", result.timestamp},          {"done", result.done}};
}

Result result_from(const Json& json) {
  Result result;
  result.metrics = metrics_from(json.at("metrics"));
  json.at("iteration").get_to(result.training_iteration);
  json.at("this_iter_s").get_to(result.time_this_iter_s);
  json.at("total_s").get_to(result.time_total_s);
  json.at("timestamp").get_to(result.timestamp);
  json.at("done").get_to(result.done);
  return result;
}

}  // namespace

Json to_json(const ResourceGrant& grant) {
  return {{"amounts", grant.amounts.amounts()}, {"gpu_ids", grant.gpu_ids}};
}

ResourceGrant grant_from_json(const Json& json) {
  ResourceGrant grant;
  for (const auto& [name, amount] : json.at("amounts").items()) {
    grant.amounts.set(name, amount.get<std::int64_t>());
  }
  json.at("gpu_ids").get_to(grant.gpu_ids);
  return grant;
}

Json manifest_to_json(const core::SharedManifest& files) {
  if (!files) return {};
  Json list = Json::array();
  for (const core::CheckpointFile& file : *files) {
    list.push_back({file.path, file.size_bytes, file.hash});
  }
  return list;
}

core::SharedManifest manifest_from_json(const Json& json) {
  if (json.is_null()) return {};
  core::CheckpointManifest files;
  files.reserve(json.size());
  for (const Json& file : json) files.push_back({file.at(0), file.at(1), file.at(2)});
  return std::make_shared<const core::CheckpointManifest>(std::move(files));
}

namespace {

Json to_json(const engine::SavedValue& saved) {
  return {{"name", saved.name},
          {"index", saved.index},
          {"value", *saved.value},
          {"size_bytes", saved.size_bytes},
          {"directory", saved.directory_name},
          {"files", manifest_to_json(saved.files)}};
}

engine::SavedValue saved_from(const Json& json) {
  return {
      json.at("name"),       json.at("index"),     std::make_shared<const Json>(json.at("value")),
      json.at("size_bytes"), json.at("directory"), manifest_from_json(json.at("files"))};
}

}  // namespace

Json to_json(const engine::Launch& launch) {
  Json saves = Json::array();
  for (const engine::SavedValue& saved : launch.saves) saves.push_back(to_json(saved));
  Json checkpoint;
  if (launch.checkpoint) {
    checkpoint = {launch.checkpoint->trial_name, launch.checkpoint->directory_name};
  }
  Json workers = Json::array();
  for (const WorkerGrant& worker : launch.workers) {
    workers.push_back({worker.node.value(), to_json(worker.resources)});
  }
  return {{"trial", launch.trial.value()},
          {"incarnation", launch.incarnation},
          {"node", launch.node.value()},
          {"trial_name", launch.trial_name},
          {"config", launch.config.json()},
          {"grant", to_json(launch.grant)},
          {"workers", std::move(workers)},
          {"seed", launch.seed},
          {"checkpoint", std::move(checkpoint)},
          {"checkpoint_files", manifest_to_json(launch.checkpoint_files)},
          {"adopt_as", launch.adopt_as ? Json(*launch.adopt_as) : Json()},
          {"start_iteration", launch.start_iteration},
          {"start_time_total_s", launch.start_time_total_s},
          {"stored_until", launch.stored_until},
          {"saves", std::move(saves)},
          {"horizon", to_json(launch.horizon)}};
}

engine::Launch launch_from_json(const Json& json) {
  engine::Launch launch;
  launch.trial = TrialId(json.at("trial").get<std::uint64_t>());
  json.at("incarnation").get_to(launch.incarnation);
  launch.node = NodeId(json.at("node").get<std::uint64_t>());
  json.at("trial_name").get_to(launch.trial_name);
  launch.config = Config(json.at("config"));
  launch.grant = grant_from_json(json.at("grant"));
  for (const Json& worker : json.at("workers")) {
    launch.workers.push_back(
        {NodeId(worker.at(0).get<std::uint64_t>()), grant_from_json(worker.at(1))});
  }
  json.at("seed").get_to(launch.seed);
  if (const Json& checkpoint = json.at("checkpoint"); !checkpoint.is_null()) {
    launch.checkpoint = engine::CheckpointLocation{checkpoint.at(0), checkpoint.at(1)};
  }
  launch.checkpoint_files = manifest_from_json(json.at("checkpoint_files"));
  if (const Json& name = json.at("adopt_as"); !name.is_null()) launch.adopt_as = name;
  json.at("start_iteration").get_to(launch.start_iteration);
  json.at("start_time_total_s").get_to(launch.start_time_total_s);
  json.at("stored_until").get_to(launch.stored_until);
  for (const Json& saved : json.at("saves")) launch.saves.push_back(saved_from(saved));
  launch.horizon = horizon_from(json.at("horizon"));
  return launch;
}

namespace {

Json to_json(const TrialRun& run) {
  return {{"launch", to_json(run.launch)},
          {"experiment_name", run.experiment_name},
          {"experiment_path", run.experiment_path.string()},
          {"initial_checkpoint", run.initial_checkpoint.string()},
          {"every", run.checkpoint.every},
          {"keep", run.checkpoint.keep},
          {"at_end", run.checkpoint.at_end},
          {"warns", run.warns_of_reserved_names},
          {"travel", run.checkpoints_travel},
          {"place", run.place ? Json{run.place->rank, run.place->size} : Json()}};
}

TrialRun run_from(const Json& json) {
  TrialRun run;
  run.launch = launch_from_json(json.at("launch"));
  json.at("experiment_name").get_to(run.experiment_name);
  run.experiment_path = json.at("experiment_path").get<std::string>();
  run.initial_checkpoint = json.at("initial_checkpoint").get<std::string>();
  json.at("every").get_to(run.checkpoint.every);
  json.at("keep").get_to(run.checkpoint.keep);
  json.at("at_end").get_to(run.checkpoint.at_end);
  json.at("warns").get_to(run.warns_of_reserved_names);
  json.at("travel").get_to(run.checkpoints_travel);
  if (const Json& place = json.at("place"); !place.is_null()) {
    run.place = TeamPlace{place.at(0), place.at(1)};
  }
  return run;
}

// --- orders

struct OrderFields {
  Json operator()(const engine::Proceed& o) const { return {{"horizon", to_json(o.horizon)}}; }
  Json operator()(const engine::Save&) const { return Json::object(); }
  Json operator()(const engine::Pause&) const { return Json::object(); }
  Json operator()(const engine::Stop& o) const { return {{"save", o.save}}; }
  Json operator()(const Acknowledgement& o) const { return {{"count", o.count}}; }
};

}  // namespace

Json to_json(const TrialOrder& order) {
  Json json = std::visit(OrderFields{}, order);
  json["kind"] = order_kinds[order.index()];
  std::visit(
      [&](const auto& o) {
        json["trial"] = o.trial.value();
        json["incarnation"] = o.incarnation;
        json["node"] = o.node.value();
      },
      order);
  return json;
}

namespace {

template <class Order>
Order addressed(const Json& json, Order order) {
  order.trial = TrialId(json.at("trial").get<std::uint64_t>());
  json.at("incarnation").get_to(order.incarnation);
  order.node = NodeId(json.at("node").get<std::uint64_t>());
  return order;
}

}  // namespace

TrialOrder order_from_json(const Json& json) {
  switch (kind_of(json, order_kinds)) {
    case 0: {
      engine::Proceed proceed;
      proceed.horizon = horizon_from(json.at("horizon"));
      return addressed(json, std::move(proceed));
    }
    case 1:
      return addressed(json, engine::Save{});
    case 2:
      return addressed(json, engine::Pause{});
    case 3: {
      engine::Stop stop;
      json.at("save").get_to(stop.save);
      return addressed(json, stop);
    }
    default: {
      Acknowledgement acknowledgement;
      json.at("count").get_to(acknowledgement.count);
      return addressed(json, acknowledgement);
    }
  }
}

namespace {

// --- what a trial tells

struct ReportFields {
  Json operator()(const engine::Started&) const { return Json::object(); }
  Json operator()(const engine::Reported& r) const { return {{"result", to_json(r.result)}}; }
  Json operator()(const engine::CheckpointStored& r) const {
    return {{"directory", r.directory_name},
            {"iteration", r.training_iteration},
            {"total_s", r.time_total_s},
            {"files", manifest_to_json(r.files)}};
  }
  Json operator()(const engine::CheckpointFailed& r) const {
    return {{"iteration", r.training_iteration}, {"message", r.message}};
  }
  Json operator()(const engine::Warned& r) const {
    return {{"text", r.text}, {"reserved_names", r.is_of_reserved_names}};
  }
  Json operator()(const engine::Ended& r) const {
    return {{"end", static_cast<int>(r.kind)}, {"message", r.message}};
  }
  Json operator()(const engine::Saved& r) const { return {{"saved", to_json(r.saved)}}; }
  Json operator()(const engine::WentBack& r) const { return {{"iteration", r.training_iteration}}; }
};

engine::EndKind end_kind_from(const Json& json) {
  const int kind = json.get<int>();
  if (kind < 0 || kind > static_cast<int>(engine::EndKind::damaged)) {
    throw std::invalid_argument("an end of unknown kind " + std::to_string(kind));
  }
  return static_cast<engine::EndKind>(kind);
}

engine::TrialReport trial_report_from(const Json& json) {
  switch (kind_of(json, trial_report_kinds)) {
    case 0:
      return engine::Started{};
    case 1:
      return engine::Reported{result_from(json.at("result"))};
    case 2:
      return engine::CheckpointStored{json.at("directory"), json.at("iteration"),
                                      json.at("total_s"), manifest_from_json(json.at("files"))};
    case 3:
      return engine::CheckpointFailed{json.at("iteration"), json.at("message")};
    case 4:
      return engine::Warned{json.at("text"), json.at("reserved_names")};
    case 5:
      return engine::Ended{end_kind_from(json.at("end")), json.at("message")};
    case 6:
      return engine::Saved{saved_from(json.at("saved"))};
    default:
      return engine::WentBack{json.at("iteration")};
  }
}

}  // namespace

Json to_json(const engine::TrialMessage& message) {
  Json json = std::visit(ReportFields{}, message.report);
  json["kind"] = trial_report_kinds[message.report.index()];
  json["trial"] = message.trial.value();
  json["incarnation"] = message.incarnation;
  json["sequence"] = message.sequence;
  return json;
}

engine::TrialMessage trial_message_from_json(const Json& json) {
  engine::TrialMessage message;
  message.trial = TrialId(json.at("trial").get<std::uint64_t>());
  json.at("incarnation").get_to(message.incarnation);
  json.at("sequence").get_to(message.sequence);
  message.report = trial_report_from(json);
  return message;
}

namespace {

Json to_json(const TeamLetter& letter) { return {{"rank", letter.rank}, {"body", letter.body}}; }

TeamLetter letter_from(const Json& json) { return {json.at("rank"), json.at("body")}; }

struct CommandFields {
  Json operator()(const StartTrial& c) const {
    return {{"trainable", c.trainable}, {"run", to_json(c.run)}, {"plugins", c.plugins}};
  }
  Json operator()(const TrialOrder& c) const { return {{"order", to_json(c)}}; }
  Json operator()(const EndWorker&) const { return Json::object(); }
  Json operator()(const TeamLetter& c) const { return to_json(c); }
};

struct WorkerReportFields {
  Json operator()(const WorkerHello& r) const { return {{"version", r.version}}; }
  Json operator()(const WorkerNews& r) const {
    Json messages = Json::array();
    for (const engine::TrialMessage& message : r.messages) messages.push_back(to_json(message));
    return {
        {"messages", std::move(messages)}, {"ending", r.is_ending}, {"reusable", r.is_reusable}};
  }
  Json operator()(const WorkerBye& r) const { return {{"fault", r.fault}}; }
  Json operator()(const TeamLetter& r) const { return to_json(r); }
};

}  // namespace

Json to_json(const WorkerCommand& command) {
  Json json = std::visit(CommandFields{}, command);
  json["kind"] = command_kinds[command.index()];
  return json;
}

Json to_json(const WorkerReport& report) {
  Json json = std::visit(WorkerReportFields{}, report);
  json["kind"] = report_kinds[report.index()];
  return json;
}

WorkerCommand command_from_json(const Json& json) {
  switch (kind_of(json, command_kinds)) {
    case 0:
      return StartTrial{json.at("trainable"), run_from(json.at("run")), json.at("plugins")};
    case 1:
      return order_from_json(json.at("order"));
    case 2:
      return EndWorker{};
    default:
      return letter_from(json);
  }
}

WorkerReport report_from_json(const Json& json) {
  switch (kind_of(json, report_kinds)) {
    case 0:
      return WorkerHello{json.at("version")};
    case 1: {
      WorkerNews news;
      for (const Json& message : json.at("messages")) {
        news.messages.push_back(trial_message_from_json(message));
      }
      json.at("ending").get_to(news.is_ending);
      json.at("reusable").get_to(news.is_reusable);
      return news;
    }
    case 2:
      return WorkerBye{json.at("fault")};
    default:
      return letter_from(json);
  }
}

}  // namespace tune::runtime
