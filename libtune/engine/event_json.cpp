#include "engine/event_json.hpp"

#include <array>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/json_text.hpp"
#include "core/resources_json.hpp"

namespace tune::engine {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr const char* non_finite_member = "nonfinite";

// Of a TrialMessage, by what it reports.
constexpr std::array<const char*, 8> message_kinds = {
    "trial_started", "result",      "checkpoint", "checkpoint_failed",
    "warning",       "trial_ended", "saved",      "went_back"};
static_assert(message_kinds.size() == std::variant_size_v<TrialReport>);
constexpr std::array<const char*, 7> end_kinds = {"finished", "stopped",   "paused", "failed",
                                                  "invalid",  "abandoned", "damaged"};

Json metrics_json(const Metrics& metrics) {
  Json list = Json::array();  // keeps the order
  for (const auto& [name, value] : metrics) list.push_back({name, value.json()});
  return list;
}

MetricValue metric_value_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  return json.get<std::string>();
}

Json result_json(const Result& result) {
  return {{"metrics", metrics_json(result.metrics)},
          {"training_iteration", result.training_iteration},
          {"time_this_iter_s", result.time_this_iter_s},
          {"time_total_s", result.time_total_s},
          {"timestamp", result.timestamp},
          {"done", result.done}};
}

Result result_of(const Json& json) {
  Result result;
  for (const Json& item : json.at("metrics")) {
    result.metrics.set(item.at(0).get_ref<const std::string&>(), metric_value_of(item.at(1)));
  }
  json.at("training_iteration").get_to(result.training_iteration);
  json.at("time_this_iter_s").get_to(result.time_this_iter_s);
  json.at("time_total_s").get_to(result.time_total_s);
  json.at("timestamp").get_to(result.timestamp);
  json.at("done").get_to(result.done);
  return result;
}

// Null: not known.
Json files_json(const core::SharedManifest& files) {
  if (!files) return {};
  Json list = Json::array();
  for (const core::CheckpointFile& file : *files) {
    list.push_back({file.path, file.size_bytes, file.hash});
  }
  return list;
}

core::SharedManifest files_of(const Json& json) {
  if (json.is_null()) return {};
  core::CheckpointManifest files;
  files.reserve(json.size());
  for (const Json& file : json) files.push_back({file.at(0), file.at(1), file.at(2)});
  return std::make_shared<const core::CheckpointManifest>(std::move(files));
}

Json ids_json(const std::vector<TrialId>& ids) {
  Json list = Json::array();
  for (const TrialId id : ids) list.push_back(id.value());
  return list;
}

std::vector<TrialId> ids_of(const Json& json) {
  std::vector<TrialId> ids;
  for (const Json& id : json) ids.emplace_back(id.get<std::uint64_t>());
  return ids;
}

// --- events

struct ReportBody {
  Json operator()(const Started&) const { return Json::object(); }
  Json operator()(const Reported& r) const { return result_json(r.result); }
  Json operator()(const CheckpointStored& r) const {
    return {{"directory", r.directory_name},
            {"training_iteration", r.training_iteration},
            {"time_total_s", r.time_total_s},
            {"files", files_json(r.files)}};
  }
  Json operator()(const CheckpointFailed& r) const {
    return {{"training_iteration", r.training_iteration}, {"message", r.message}};
  }
  Json operator()(const Warned& r) const {
    return {{"text", r.text}, {"reserved_names", r.is_of_reserved_names}};
  }
  Json operator()(const Ended& r) const {
    return {{"end", end_kinds.at(static_cast<std::size_t>(r.kind))}, {"message", r.message}};
  }
  Json operator()(const Saved& r) const {
    return {{"name", r.saved.name},
            {"index", r.saved.index},
            {"value", *r.saved.value},
            {"size_bytes", r.saved.size_bytes},
            {"directory", r.saved.directory_name},
            {"files", files_json(r.saved.files)}};
  }
  Json operator()(const WentBack& r) const {
    return {{"training_iteration", r.training_iteration}};
  }
};

template <std::size_t count>
std::size_t place_of(const std::array<const char*, count>& kinds, std::string_view kind) {
  std::size_t place = 0;
  while (place < count && kind != kinds[place]) ++place;
  return place;
}

Ended ended_of(const Json& body) {
  const auto& end = body.at("end").get_ref<const std::string&>();
  const std::size_t kind = place_of(end_kinds, end);
  if (kind == end_kinds.size()) throw std::runtime_error("a trial's end of unknown kind " + end);
  return {static_cast<EndKind>(kind), body.at("message")};
}

Saved saved_of(const Json& body) {
  return {{body.at("name"), body.at("index"), std::make_shared<const Json>(body.at("value")),
           body.at("size_bytes"), body.at("directory"), files_of(body.at("files"))}};
}

TrialReport report_of(std::size_t kind, const Json& body) {
  switch (kind) {
    case 0:
      return Started{};
    case 1:
      return Reported{result_of(body)};
    case 2:
      return CheckpointStored{body.at("directory"), body.at("training_iteration"),
                              body.at("time_total_s"), files_of(body.at("files"))};
    case 3:
      return CheckpointFailed{body.at("training_iteration"), body.at("message")};
    case 4:
      return Warned{body.at("text"), body.at("reserved_names")};
    case 5:
      return ended_of(body);
    case 6:
      return saved_of(body);
    default:
      return WentBack{body.at("training_iteration")};
  }
}

Json suggestion_json(const SuggestionReady& event) {
  if (const auto* config = std::get_if<Config>(&event.suggestion)) {
    Json body = {{"config", config->json()}};
    if (!event.note.empty()) body["note"] = event.note;
    return body;
  }
  if (std::holds_alternative<Wait>(event.suggestion)) return {{"answer", "wait"}};
  if (std::holds_alternative<Exhausted>(event.suggestion)) return {{"answer", "exhausted"}};
  return {{"failure", std::get<SearcherFailure>(event.suggestion).message}};
}

SuggestionReady suggestion_of(TrialId trial, const Json& body) {
  if (body.contains("config")) {
    return {trial, Config(body.at("config")), body.value("note", "")};
  }
  if (body.contains("failure")) return {trial, SearcherFailure{body.at("failure")}};
  const auto& answer = body.at("answer").get_ref<const std::string&>();
  if (answer == "wait") return {trial, Wait{}};
  if (answer == "exhausted") return {trial, Exhausted{}};
  throw std::runtime_error("a suggestion of unknown kind " + answer);
}

struct RecordMaker {
  EventRecord operator()(const NodeJoined& e) const {
    Json body = {
        {"node", e.node.value()}, {"name", e.name}, {"capacity", core::to_json(e.capacity)}};
    if (!e.labels.empty()) body["labels"] = e.labels;
    if (e.is_remote) body["remote"] = true;
    for (const HeldRun& run : e.held)
      body["held"].push_back({run.trial.value(), run.incarnation, run.first});
    return {.kind = "node_joined", .body = std::move(body)};
  }
  EventRecord operator()(const NodeLeft& e) const {
    return {.kind = "node_left", .body = {{"node", e.node.value()}}};
  }
  EventRecord operator()(const SuggestionReady& e) const {
    return {.kind = "suggestion", .trial = e.trial, .body = suggestion_json(e)};
  }
  EventRecord operator()(const TrialMessage& e) const {
    return {.kind = message_kinds.at(e.report.index()),
            .trial = e.trial,
            .incarnation = e.incarnation,
            .sequence = e.sequence,
            .body = std::visit(ReportBody{}, e.report)};
  }
  EventRecord operator()(const TimerFired& e) const {
    return {.kind = "timer", .body = {{"timer", e.timer}}};
  }
  EventRecord operator()(const StopRequested& e) const {
    return {.kind = "stop_requested", .body = {{"reason", e.reason}, {"interrupts", e.interrupts}}};
  }
  EventRecord operator()(const SessionStarted& e) const {
    return {.kind = "session_started",
            .body = {{"options", session_json(*e.options)},
                     {"reopened", ids_json(e.reopened)},
                     {"restarted", ids_json(e.restarted)}}};
  }
};

// --- what was decided

struct RequestJson {
  Json operator()(const StopTrial& r) const { return {"stop", r.trial.value()}; }
  Json operator()(const PauseTrial& r) const { return {"pause", r.trial.value()}; }
  Json operator()(const UnpauseTrial& r) const { return {"unpause", r.trial.value()}; }
  Json operator()(const SaveTrial& r) const { return {"save", r.trial.value()}; }
  Json operator()(const ExploitTrial& r) const {
    return {"exploit", r.target.value(), r.source.value(), r.config.json()};
  }
  Json operator()(const ChangeResources& r) const {
    return {"resources", r.trial.value(), core::to_json(r.resources)};
  }
  Json operator()(const DecisionHorizon& r) const {
    return {"no_decision_before", r.trial.value(), r.time};
  }
  Json operator()(const Explanation& r) const { return {"explain", r.trial.value(), r.reason}; }
};

SchedulerRequest request_of_json(const Json& json) {
  const auto& kind = json.at(0).get_ref<const std::string&>();
  const TrialId trial(json.at(1).get<std::uint64_t>());
  if (kind == "stop") return StopTrial{trial};
  if (kind == "pause") return PauseTrial{trial};
  if (kind == "unpause") return UnpauseTrial{trial};
  if (kind == "save") return SaveTrial{trial};
  if (kind == "exploit") {
    return ExploitTrial{trial, TrialId(json.at(2).get<std::uint64_t>()), Config(json.at(3))};
  }
  if (kind == "resources") return ChangeResources{trial, core::resources_from_json(json.at(2))};
  if (kind == "no_decision_before") return DecisionHorizon{trial, json.at(2).get<double>()};
  if (kind == "explain") return Explanation{trial, json.at(2)};
  throw std::runtime_error("a decision of unknown kind " + kind);
}

struct AnswerJson {
  Json operator()(const SchedulerAnswer& a) const {
    Json json = Json::object();
    if (a.decision != Decision::proceed) json["decision"] = to_string(a.decision);
    if (a.choice) json["run"] = a.choice->value();
    if (a.hold) json["hold"] = true;
    for (const SchedulerRequest& request : a.requests) {
      json["requests"].push_back(std::visit(RequestJson{}, request));
    }
    return json;
  }
  Json operator()(const CriteriaAnswer& a) const {
    return {{"stop_trial", a.stop_trial}, {"stop_experiment", a.stop_experiment}};
  }
  Json operator()(const ResourceRequest& a) const {
    if (a.is_plain()) return {{"resources", core::to_json(a.own.amounts)}};
    return {{"request", core::to_json(a)}};
  }
  Json operator()(const AnswerFault& a) const { return {{"fault", a.text}}; }
};

Decision decision_of(const std::string& text) {
  for (const Decision decision : {Decision::proceed, Decision::pause, Decision::stop}) {
    if (text == to_string(decision)) return decision;
  }
  throw std::runtime_error("a decision of unknown kind " + text);
}

OutsideAnswer answer_of(const Json& json) {
  if (json.contains("fault")) return AnswerFault{json.at("fault")};
  if (json.contains("resources")) {
    return ResourceRequest(core::amounts_from_json(json.at("resources")));
  }
  if (json.contains("request")) return core::request_from_json(json.at("request"));
  if (json.contains("stop_trial")) {
    return CriteriaAnswer{json.at("stop_trial"), json.at("stop_experiment")};
  }
  SchedulerAnswer answer;
  if (json.contains("decision")) answer.decision = decision_of(json.at("decision"));
  if (json.contains("run")) answer.choice = TrialId(json.at("run").get<std::uint64_t>());
  answer.hold = json.value("hold", false);
  for (const Json& request : json.value("requests", Json::array())) {
    answer.requests.push_back(request_of_json(request));
  }
  return answer;
}

NodeJoined node_joined_of(const Json& body) {
  NodeJoined joined{NodeId(body.at("node").get<std::uint64_t>()), body.at("name"),
                    core::amounts_from_json(body.at("capacity")), body.value("labels", Labels()),
                    body.value("remote", false)};
  for (const Json& run : body.value("held", Json::array())) {
    joined.held.push_back({TrialId(run.at(0).get<std::uint64_t>()), run.at(1), run.at(2)});
  }
  return joined;
}

}  // namespace

EventRecord record_of(const Event& event) { return std::visit(RecordMaker{}, event); }

Event event_of(const EventRecord& record, const EngineOptions& options) {
  const Json& body = record.body;
  const TrialId trial = record.trial.value_or(TrialId(0));
  if (const std::size_t kind = place_of(message_kinds, record.kind); kind < message_kinds.size()) {
    return TrialMessage{trial, record.incarnation, record.sequence, report_of(kind, body)};
  }
  if (record.kind == "suggestion") return suggestion_of(trial, body);
  if (record.kind == "timer") return TimerFired{body.at("timer")};
  if (record.kind == "stop_requested") {
    return StopRequested{body.at("reason"), body.at("interrupts")};
  }
  if (record.kind == "node_joined") {
    return node_joined_of(body);
  }
  if (record.kind == "node_left") return NodeLeft{NodeId(body.at("node").get<std::uint64_t>())};
  if (record.kind == "session_started") {
    return SessionStarted{
        std::make_shared<const EngineOptions>(with_session(options, body.at("options"))),
        ids_of(body.at("reopened")), ids_of(body.at("restarted"))};
  }
  throw std::runtime_error("an event of unknown kind " + record.kind);
}

Json to_json(const OutsideAnswer& answer) { return std::visit(AnswerJson{}, answer); }

Json to_json(const Decisions& decisions) {
  Json json = Json::object();
  for (const RecordedAnswer& recorded : decisions) {
    json[std::to_string(recorded.call)] = to_json(recorded.answer);
  }
  return json;
}

Decisions decisions_of(const Json& json) {
  Decisions decisions;
  for (const auto& [call, answer] : json.items()) {
    if (call == non_finite_member) continue;
    decisions.push_back({static_cast<std::uint32_t>(std::stoul(call)), answer_of(answer)});
  }
  return decisions;
}

Json session_json(const EngineOptions& o) {
  return {{"strict_metric", o.strict_metric},
          {"max_trials", o.max_trials ? Json(*o.max_trials) : Json()},
          {"max_infeasible", o.max_infeasible},
          {"max_concurrent", o.max_concurrent},
          {"checkpoint_keep", o.checkpoint.keep},
          {"checkpoint_keep_best", o.checkpoint.keep_best},
          {"checkpoint_metric", o.checkpoint.metric},
          {"checkpoint_mode", o.checkpoint.mode ? Json(to_string(*o.checkpoint.mode)) : Json()},
          {"checkpoint_at_end", o.checkpoint.at_end},
          {"trainable_checkpoints", o.trainable_checkpoints},
          {"max_failures", o.max_failures},
          {"max_node_failures", o.max_node_failures},
          {"retry_pause", o.retry_pause.count()},
          {"max_retry_pause", o.max_retry_pause.count()},
          {"max_experiment_failures", o.max_experiment_failures},
          {"fail_fast", o.fail_fast},
          {"time_budget", o.time_budget ? Json(o.time_budget->count()) : Json()},
          {"fixed_cluster", o.fixed_cluster},
          {"infeasible_timeout", o.infeasible_timeout.count()},
          {"driver_grace", o.driver_grace.count()}};
}

EngineOptions with_session(EngineOptions options, const Json& session) {
  EngineOptions& o = options;
  session.at("strict_metric").get_to(o.strict_metric);
  o.max_trials.reset();
  if (const Json& most = session.at("max_trials"); !most.is_null()) o.max_trials = most;
  session.at("max_infeasible").get_to(o.max_infeasible);
  session.at("max_concurrent").get_to(o.max_concurrent);
  session.at("checkpoint_keep").get_to(o.checkpoint.keep);
  session.at("checkpoint_keep_best").get_to(o.checkpoint.keep_best);
  session.at("checkpoint_metric").get_to(o.checkpoint.metric);
  o.checkpoint.mode.reset();
  if (const Json& mode = session.at("checkpoint_mode"); !mode.is_null()) {
    o.checkpoint.mode = mode == to_string(Mode::max) ? Mode::max : Mode::min;
  }
  session.at("checkpoint_at_end").get_to(o.checkpoint.at_end);
  session.at("trainable_checkpoints").get_to(o.trainable_checkpoints);
  session.at("max_failures").get_to(o.max_failures);
  o.max_node_failures = session.value("max_node_failures", std::int64_t{-1});
  o.retry_pause = Seconds(session.at("retry_pause").get<double>());
  o.max_retry_pause = Seconds(session.at("max_retry_pause").get<double>());
  session.at("max_experiment_failures").get_to(o.max_experiment_failures);
  session.at("fail_fast").get_to(o.fail_fast);
  o.time_budget.reset();
  if (const Json& budget = session.at("time_budget"); !budget.is_null()) {
    o.time_budget = Seconds(budget.get<double>());
  }
  session.at("fixed_cluster").get_to(o.fixed_cluster);
  o.infeasible_timeout = Seconds(session.value("infeasible_timeout", o.infeasible_timeout.count()));
  o.driver_grace = Seconds(session.value("driver_grace", 0.0));
  return options;
}

std::string object_text(const Json& object) {
  core::ExactText text = core::exact_text(object);
  if (text.non_finite.empty()) return std::move(text.json);
  text.json.pop_back();
  return std::move(text.json) + ",\"" + non_finite_member + "\":" + text.non_finite + "}";
}

Json object_of_text(std::string_view text) {
  if (text.empty()) return Json::object();
  try {
    Json object = Json::parse(text);
    const auto special = object.find(non_finite_member);
    if (special == object.end()) return object;
    const std::string places = special->dump();
    object.erase(special);
    return core::json_of_text(object.dump(), places);
  } catch (const Json::exception& error) {
    throw std::runtime_error(std::string(text) + ": " + error.what());
  }
}

}  // namespace tune::engine
