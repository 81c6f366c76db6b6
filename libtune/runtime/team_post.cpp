#include "runtime/team_post.hpp"

#include <stdexcept>

#include "wire_values.hpp"

namespace tune::runtime {
namespace {

bool has_right_body(const TeamPost& post) {
  switch (post.kind) {
    case TeamPost::Kind::start:
      (void)member_start_from_json(post.body);
      return true;
    case TeamPost::Kind::order:
    case TeamPost::Kind::word:
      return post.body.is_object();
    case TeamPost::Kind::over:
      return post.body.is_string();
    case TeamPost::Kind::stop:
      return true;
  }
  return false;
}

}  // namespace

Json to_json(const MemberStart& start) {
  return {{"trial_name", start.trial_name}, {"size", start.size}, {"grant", to_json(start.grant)}};
}

MemberStart member_start_from_json(const Json& json) {
  return {json.at("trial_name"), json.at("size"), grant_from_json(json.at("grant"))};
}

std::string encode_post(const TeamPost& post) {
  const Json json = {post.member.team.trial.value(), post.member.team.incarnation, post.member.rank,
                     static_cast<int>(post.kind), post.body};
  std::string bytes;
  Json::to_cbor(json, nlohmann::detail::output_adapter<char>(bytes));
  if (bytes.size() > max_post_bytes) {
    throw std::length_error(std::to_string(bytes.size()) + " bytes for a worker elsewhere, want " +
                            "at most " + std::to_string(max_post_bytes));
  }
  return bytes;
}

TeamPost decode_post(const std::string& bytes) {
  Json json = Json::from_cbor(bytes);
  TeamPost post;
  post.member.team.trial = TrialId(json.at(0).get<std::uint64_t>());
  json.at(1).get_to(post.member.team.incarnation);
  json.at(2).get_to(post.member.rank);
  const int kind = json.at(3).get<int>();
  if (kind < 0 || kind > static_cast<int>(TeamPost::Kind::over)) {
    throw std::invalid_argument("a post of unknown kind " + std::to_string(kind));
  }
  post.kind = static_cast<TeamPost::Kind>(kind);
  post.body = std::move(json.at(4));
  if (!has_right_body(post)) throw std::invalid_argument("a post with a body of another kind");
  return post;
}

}  // namespace tune::runtime
