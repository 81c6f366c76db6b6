#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tune/ids.hpp>
#include <tune/json.hpp>
#include <tune/resources.hpp>

/// What the agents of a trial and of its parallel workers tell each other, see TeamBooks.
namespace tune::runtime {

/// The parallel workers of one start of a trial.
struct TeamId {
  TrialId trial;
  std::uint32_t incarnation = 0;
  friend auto operator<=>(const TeamId&, const TeamId&) = default;
};
/// One of them.
struct MemberId {
  TeamId team;
  std::size_t rank = 0;
  friend auto operator<=>(const MemberId&, const MemberId&) = default;
};

/// What an agent must know to start a worker of another node's trial.
struct MemberStart {
  std::string trial_name;
  std::size_t size = 0;  ///< Of the team.
  ResourceGrant grant;
};

struct TeamPost {
  enum class Kind {
    start,  ///< To the worker's agent: start it. The body is a MemberStart.
    order,  ///< The trial says this to it.
    stop,   ///< The trial is over: end it.
    word,   ///< To the trial's agent: the worker says this.
    over,   ///< The worker is gone. The body is a text: how it ended.
  };
  MemberId member;
  Kind kind = Kind::word;
  Json body = {};
};

/// A little more than a frame of a worker may have: what one could say to its agent is passed on.
inline constexpr std::size_t max_post_bytes = (64U << 20U) + 1024;

[[nodiscard]] Json to_json(const MemberStart& start);
/// @throws std::exception for what is none.
[[nodiscard]] MemberStart member_start_from_json(const Json& json);
/// @throws std::length_error for a post that needs more than max_post_bytes.
[[nodiscard]] std::string encode_post(const TeamPost& post);
/// @throws std::exception for what is none.
[[nodiscard]] TeamPost decode_post(const std::string& bytes);

}  // namespace tune::runtime
