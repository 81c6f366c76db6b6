#include "runtime/node_wire.hpp"

#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "runtime/wire.hpp"
#include "wire_values.hpp"

namespace tune::runtime {
namespace {

// Each kind of a variant has a name here, by its place; one that is added needs another.
constexpr const char* to_node_kinds[] = {"offer",  "refusal", "welcome", "turn", "ping",
                                         "fenced", "over",    "letter",  "gone", "files_taken"};
constexpr const char* to_driver_kinds[] = {"introduction", "ready",      "refusal", "news",
                                           "warning",      "note",       "pong",    "leaves",
                                           "letter",       "files_ready"};
static_assert(std::size(to_node_kinds) == std::variant_size_v<ToNode>);
static_assert(std::size(to_driver_kinds) == std::variant_size_v<ToDriver>);

template <std::size_t count>
std::size_t node_kind_of(const Json& json, const char* const (&kinds)[count]) {
  const auto& kind = json.at("kind").get_ref<const std::string&>();
  const auto* found = std::find(std::begin(kinds), std::end(kinds), kind);
  if (found == std::end(kinds)) {
    throw std::invalid_argument("a message of unknown kind \"" + kind + "\"");
  }
  return static_cast<std::size_t>(found - std::begin(kinds));
}

ResourceAmounts amounts_from(const Json& json) {
  ResourceAmounts amounts;
  for (const auto& [name, amount] : json.items()) amounts.set(name, amount.get<std::int64_t>());
  return amounts;
}

NodeIntroduction introduction_from(const Json& json) {
  NodeIntroduction node;
  json.at("protocol").get_to(node.protocol);
  // What else another version says is of no account.
  if (node.protocol != node_protocol) return node;
  json.at("build").get_to(node.build);
  json.at("program").get_to(node.program);
  json.at("node").get_to(node.node);
  json.at("name").get_to(node.name);
  json.at("ip").get_to(node.ip);
  json.at("pid").get_to(node.pid);
  node.capacity = amounts_from(json.at("capacity"));
  json.at("labels").get_to(node.labels);
  json.at("trainables").get_to(node.trainables);
  json.at("experiment").get_to(node.experiment);
  return node;
}

using Seconds = std::chrono::duration<double>;

NodeOffer offer_from(const Json& json) {
  NodeOffer offer;
  json.at("name").get_to(offer.experiment_name);
  json.at("path").get_to(offer.experiment_path);
  json.at("id").get_to(offer.experiment_id);
  json.at("trainable").get_to(offer.trainable);
  json.at("plugins").get_to(offer.plugins);
  offer.times.stop_grace = Seconds(json.at("stop_grace").get<double>());
  offer.times.kill_grace = Seconds(json.at("kill_grace").get<double>());
  offer.times.step_timeout = Seconds(json.at("step_timeout").get<double>());
  json.at("reuse_workers").get_to(offer.reuse_workers);
  json.at("every").get_to(offer.checkpoint.every);
  json.at("keep").get_to(offer.checkpoint.keep);
  json.at("at_end").get_to(offer.checkpoint.at_end);
  json.at("resume_from").get_to(offer.resume_from);
  offer.node_timeout = Seconds(json.at("node_timeout").get<double>());
  offer.driver_grace = Seconds(json.at("driver_grace").get<double>());
  json.at("token_path").get_to(offer.token_path);
  json.at("token").get_to(offer.token_content);
  return offer;
}

Json command_to_json(const NodeCommand& command) {
  return std::visit(
      [](const auto& c) -> Json {
        using Command = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<Command, engine::Launch>) {
          return {{"kind", "launch"}, {"launch", to_json(c)}};
        } else if constexpr (std::is_same_v<Command, engine::DeleteCheckpoint>) {
          return {{"kind", "delete"},
                  {"trial_name", c.checkpoint.trial_name},
                  {"directory", c.checkpoint.directory_name}};
        } else {
          return to_json(TrialOrder(c));
        }
      },
      command);
}

NodeCommand command_from(const Json& json) {
  const auto& kind = json.at("kind").get_ref<const std::string&>();
  if (kind == "launch") return launch_from_json(json.at("launch"));
  if (kind == "delete") {
    return engine::DeleteCheckpoint{{json.at("trial_name"), json.at("directory")}};
  }
  return std::visit(
      [](auto order) -> NodeCommand {
        if constexpr (std::is_same_v<decltype(order), Acknowledgement>) {
          throw std::invalid_argument("an acknowledgement among the commands");
        } else {
          return order;
        }
      },
      order_from_json(json));
}

Acknowledgement acknowledgement_from(const Json& json) {
  return {NodeId(json.at(0).get<std::uint64_t>()), TrialId(json.at(1).get<std::uint64_t>()),
          json.at(2), json.at(3)};
}

Json letter_to_json(const NodeLetter& letter) {
  return {{"from", letter.from.value()},
          {"to", letter.to.value()},
          {"bytes", Json::binary({letter.bytes.begin(), letter.bytes.end()})},
          {"last", letter.is_last},
          {"received", letter.received}};
}

NodeLetter letter_from(const Json& json) {
  const auto& bytes = json.at("bytes").get_binary();
  return {NodeId(json.at("from").get<std::uint64_t>()), NodeId(json.at("to").get<std::uint64_t>()),
          std::string(bytes.begin(), bytes.end()), json.at("last"), json.at("received")};
}

struct ToNodeFields {
  Json operator()(const NodeOffer& m) const {
    return {{"name", m.experiment_name},
            {"path", m.experiment_path},
            {"id", m.experiment_id},
            {"trainable", m.trainable},
            {"plugins", m.plugins},
            {"stop_grace", m.times.stop_grace.count()},
            {"kill_grace", m.times.kill_grace.count()},
            {"step_timeout", m.times.step_timeout.count()},
            {"reuse_workers", m.reuse_workers},
            {"every", m.checkpoint.every},
            {"keep", m.checkpoint.keep},
            {"at_end", m.checkpoint.at_end},
            {"resume_from", m.resume_from},
            {"node_timeout", m.node_timeout.count()},
            {"driver_grace", m.driver_grace.count()},
            {"token_path", m.token_path},
            {"token", m.token_content}};
  }
  Json operator()(const NodeRefusal& m) const { return {{"reason", m.reason}}; }
  Json operator()(const NodeWelcome& m) const {
    Json adopted = Json::array();
    for (const engine::Adopt& run : m.adopted) {
      adopted.push_back({run.trial.value(), run.incarnation, run.next});
    }
    return {{"node", m.node.value()}, {"adopted", std::move(adopted)}};
  }
  Json operator()(const NodeTurn& m) const {
    Json commands = Json::array();
    for (const NodeCommand& command : m.commands) commands.push_back(command_to_json(command));
    Json credit = Json::array();
    for (const Acknowledgement& a : m.acknowledgements) {
      credit.push_back({a.node.value(), a.trial.value(), a.incarnation, a.count});
    }
    return {{"commands", std::move(commands)}, {"acknowledgements", std::move(credit)}};
  }
  Json operator()(const NodePing& m) const { return {{"number", m.number}}; }
  Json operator()(const NodeFenced& m) const { return {{"reason", m.reason}}; }
  Json operator()(const NodeOver&) const { return Json::object(); }
  Json operator()(const NodeLetter& m) const { return letter_to_json(m); }
  Json operator()(const NodeGone& m) const { return {{"node", m.node.value()}}; }
  Json operator()(const FilesTaken& m) const {
    return {{"directory", m.directory}, {"fault", m.fault}};
  }
};

struct ToDriverFields {
  Json operator()(const NodeIntroduction& m) const {
    return {{"protocol", m.protocol},
            {"build", m.build},
            {"program", m.program},
            {"node", m.node},
            {"name", m.name},
            {"ip", m.ip},
            {"pid", m.pid},
            {"capacity", m.capacity.amounts()},
            {"labels", m.labels},
            {"trainables", m.trainables},
            {"experiment", m.experiment}};
  }
  Json operator()(const NodeReady& m) const {
    Json held = Json::array();
    for (const engine::HeldRun& run : m.held) {
      held.push_back({run.trial.value(), run.incarnation, run.first});
    }
    return {{"shares_files", m.shares_files}, {"held", std::move(held)}};
  }
  Json operator()(const NodeRefusal& m) const { return {{"reason", m.reason}}; }
  Json operator()(const NodeNews& m) const {
    Json messages = Json::array();
    for (const engine::TrialMessage& message : m.messages) messages.push_back(to_json(message));
    return {{"node", m.node.value()}, {"messages", std::move(messages)}};
  }
  Json operator()(const NodeWarning& m) const { return {{"text", m.text}}; }
  Json operator()(const NodeNote& m) const { return {{"text", m.text}}; }
  Json operator()(const NodePong& m) const { return {{"number", m.number}}; }
  Json operator()(const NodeLeaves& m) const { return {{"reason", m.reason}}; }
  Json operator()(const NodeLetter& m) const { return letter_to_json(m); }
  Json operator()(const FilesReady& m) const {
    return {{"directory", m.directory},
            {"incarnation", m.incarnation},
            {"files", manifest_to_json(m.files)}};
  }
};

NodeWelcome welcome_from(const Json& json) {
  NodeWelcome welcome{NodeId(json.at("node").get<std::uint64_t>())};
  for (const Json& run : json.at("adopted")) {
    welcome.adopted.push_back(
        {TrialId(run.at(0).get<std::uint64_t>()), run.at(1), welcome.node, run.at(2)});
  }
  return welcome;
}

NodeReady ready_from(const Json& json) {
  NodeReady ready{json.at("shares_files")};
  for (const Json& run : json.at("held")) {
    ready.held.push_back({TrialId(run.at(0).get<std::uint64_t>()), run.at(1), run.at(2)});
  }
  return ready;
}

NodeTurn turn_from(const Json& json) {
  NodeTurn turn;
  for (const Json& command : json.at("commands")) turn.commands.push_back(command_from(command));
  for (const Json& credit : json.at("acknowledgements")) {
    turn.acknowledgements.push_back(acknowledgement_from(credit));
  }
  return turn;
}

NodeNews news_from(const Json& json) {
  NodeNews news;
  news.node = NodeId(json.at("node").get<std::uint64_t>());
  for (const Json& message : json.at("messages")) {
    news.messages.push_back(trial_message_from_json(message));
  }
  return news;
}

int find_build_id(dl_phdr_info* object, std::size_t, void* data) {
  auto& id = *static_cast<std::string*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* note = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
    const char* const end = note + segment.p_memsz;
    while (end - note >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      ElfW(Nhdr) header{};
      std::memcpy(&header, note, sizeof header);
      const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
      const char* const name = note + sizeof header;
      const char* const content = name + padded(header.n_namesz);
      if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
          std::memcmp(name, "GNU", 4) == 0) {
        constexpr char digits[] = "0123456789abcdef";
        for (std::size_t byte = 0; byte < header.n_descsz; ++byte) {
          const auto value = static_cast<unsigned char>(content[byte]);
          id += digits[value / 16];
          id += digits[value % 16];
        }
        return 1;
      }
      note = content + padded(header.n_descsz);
    }
  }
  return 1;  // the first object is the program, and no other is of interest
}

std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace

Json to_json(const ToNode& message) {
  Json json = std::visit(ToNodeFields{}, message);
  json["kind"] = to_node_kinds[message.index()];
  return json;
}

Json to_json(const ToDriver& message) {
  Json json = std::visit(ToDriverFields{}, message);
  json["kind"] = to_driver_kinds[message.index()];
  return json;
}

ToNode to_node_from_json(const Json& json) {
  switch (node_kind_of(json, to_node_kinds)) {
    case 0:
      return offer_from(json);
    case 1:
      return NodeRefusal{json.at("reason")};
    case 2:
      return welcome_from(json);
    case 3:
      return turn_from(json);
    case 4:
      return NodePing{json.at("number")};
    case 5:
      return NodeFenced{json.at("reason")};
    case 6:
      return NodeOver{};
    case 7:
      return letter_from(json);
    case 8:
      return NodeGone{NodeId(json.at("node").get<std::uint64_t>())};
    default:
      return FilesTaken{json.at("directory"), json.at("fault")};
  }
}

ToDriver to_driver_from_json(const Json& json) {
  switch (node_kind_of(json, to_driver_kinds)) {
    case 0:
      return introduction_from(json);
    case 1:
      return ready_from(json);
    case 2:
      return NodeRefusal{json.at("reason")};
    case 3:
      return news_from(json);
    case 4:
      return NodeWarning{json.at("text")};
    case 5:
      return NodeNote{json.at("text")};
    case 6:
      return NodePong{json.at("number")};
    case 7:
      return NodeLeaves{json.at("reason")};
    case 8:
      return letter_from(json);
    default:
      return FilesReady{json.at("directory"), json.at("incarnation"),
                        manifest_from_json(json.at("files"))};
  }
}

std::vector<NodeFrame> to_frames(const Json& message) {
  std::string bytes;
  Json::to_cbor(message, nlohmann::detail::output_adapter<char>(bytes));
  if (bytes.size() > max_node_message) {
    throw std::length_error("a message to another machine of " + std::to_string(bytes.size()) +
                            " bytes, at most " + std::to_string(max_node_message) + " are allowed");
  }
  std::vector<NodeFrame> frames;
  for (std::size_t begin = 0; begin < bytes.size(); begin += max_frame_part) {
    frames.push_back({bytes.substr(begin, max_frame_part), begin + max_frame_part >= bytes.size()});
  }
  return frames;
}

Expected<std::optional<Json>> FrameJoiner::add(const NodeFrame& frame) {
  const std::size_t size = bytes_.size() + frame.bytes.size();
  if (size > max_node_message) {
    return Error{ErrorCode::io,
                 "a message of more than " + std::to_string(max_node_message) + " bytes"};
  }
  bytes_ += frame.bytes;
  if (!frame.is_last) return std::optional<Json>();
  const std::string content = std::exchange(bytes_, {});
  Json value = Json::from_cbor(content, true, false);
  if (!value.is_object()) {
    return Error{ErrorCode::io,
                 "a message of " + std::to_string(size) + " bytes is none of tune's"};
  }
  return std::optional<Json>(std::move(value));
}

std::string this_build() {
  return std::string("tune ") + TUNE_VERSION + ", messages " + std::to_string(wire_version) +
         ", g++ " + __VERSION__;
}

std::string this_program() {
  std::string id;
  ::dl_iterate_phdr(find_build_id, &id);
  return id;
}

std::string refusal_of(const NodeIntroduction& node, const NodeOffer& offer,
                       const std::string& program) {
  if (node.protocol != node_protocol) {
    return "it speaks protocol " + std::to_string(node.protocol) + ", the driver " +
           std::to_string(node_protocol) + ": both must run the same version of tune";
  }
  if (node.build != this_build()) {
    return "it was built with " + node.build + ", the driver with " + this_build();
  }
  if (!node.experiment.empty() && node.experiment != offer.experiment_name) {
    return "it is for experiment " + node.experiment + ", this is " + offer.experiment_name;
  }
  if (offer.trainable.starts_with("function:")) {
    if (node.program == program) return {};
    return "its program is another build than the driver's, and the train function is not "
           "registered: use the same file, or TUNE_REGISTER_FUNCTION";
  }
  constexpr std::string_view by_name = "name:";
  // What a plugin has the node looks for itself, once it has loaded that.
  if (!offer.trainable.starts_with(by_name) || !offer.plugins.empty()) return {};
  const std::string name = offer.trainable.substr(by_name.size());
  const auto found = std::find(node.trainables.begin(), node.trainables.end(), name);
  if (found != node.trainables.end()) return {};
  return "trainable " + name +
         " is not registered there, registered are: " + list_text(node.trainables);
}

}  // namespace tune::runtime
