#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "trial_files.hpp"

namespace tune {
namespace {

using test::TrialFiles;

// CRC-32C bit by bit, from its definition.
std::uint32_t slow_crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int i = 0; i < 8; ++i) crc = (crc & 1U) != 0 ? (crc >> 1U) ^ 0x82F63B78U : crc >> 1U;
  }
  return ~crc;
}

std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U; }

template <class T>
T number_at(std::string_view bytes, std::size_t place) {
  T number{};
  std::memcpy(&number, bytes.substr(place, sizeof(T)).data(), sizeof(T));
  return number;
}

// The events of a file, each with its two checksums checked.
std::vector<std::string> events_of(const std::filesystem::path& path) {
  const std::string text = test::file_text(path);
  std::vector<std::string> events;
  for (std::string_view rest = text; !rest.empty();) {
    REQUIRE(rest.size() >= 16);
    const auto length = number_at<std::uint64_t>(rest, 0);
    REQUIRE(rest.size() >= 16 + length);
    CHECK(number_at<std::uint32_t>(rest, 8) == masked(slow_crc32c(rest.substr(0, 8))));
    const std::string_view event = rest.substr(12, length);
    CHECK(number_at<std::uint32_t>(rest, 12 + length) == masked(slow_crc32c(event)));
    events.emplace_back(event);
    rest.remove_prefix(16 + length);
  }
  return events;
}

std::vector<std::filesystem::path> event_files(const TrialFiles& files) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(files.trial().path)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool has_text(const std::string& event, std::string_view text) {
  return event.find(text) != std::string::npos;
}

// The encoded scalar: its tag, then field 2 as a float.
std::string scalar(const std::string& name, float value) {
  const std::string tag = "ray/tune/" + name;
  std::string text = {'\x0A', static_cast<char>(tag.size())};
  text += tag;
  text += '\x15';
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return text;
}

TEST_CASE("slow_crc32c agrees with RFC 3720, B.4", "[tensorboard]") {
  CHECK(slow_crc32c(std::string(32, '\0')) == 0x8A9136AAU);
  CHECK(slow_crc32c("123456789") == 0xE3069283U);
}

TEST_CASE("an event file has a version, the parameters, a record a result, and an end",
          "[tensorboard]") {
  TrialFiles files({"tensorboard"});
  files.start({{"lr", 0.1}});
  files.report(1, {{"loss", 0.25}, {"note", "text"}});
  files.report(2, {{"loss", 0.125}, {"ok", true}});
  files.complete();

  const auto paths = event_files(files);
  REQUIRE(paths.size() == 1);
  CHECK(has_text(paths[0].filename().string(), ".host-7."));
  const std::vector<std::string> events = events_of(paths[0]);
  REQUIRE(events.size() == 5);
  CHECK(has_text(events[0], "brain.Event:2"));
  CHECK(has_text(events[1], "_hparams_/session_start_info"));
  CHECK(has_text(events[2], scalar("loss", 0.25F)));
  CHECK(has_text(events[2], scalar("done", 0)));
  CHECK(has_text(events[2], scalar("time_this_iter_s", 0.5F)));
  CHECK(has_text(events[2], scalar("time_since_restore", 0.5F)));
  CHECK(has_text(events[2], scalar("iterations_since_restore", 1)));
  CHECK_FALSE(has_text(events[2], "note"));
  CHECK(number_at<double>(events[2], 1) == 1'700'000'001.75);  // wall time
  CHECK(events[2].substr(9, 2) == "\x10\x01");                 // step
  CHECK(has_text(events[3], scalar("loss", 0.125F)));
  CHECK(has_text(events[4], "_hparams_/session_end_info"));
}

TEST_CASE("ME-06: text metrics are left out of TensorBoard's scalars", "[ME-06]") {
  TrialFiles files({"tensorboard"});
  files.start();
  files.report(1, {{"loss", "unavailable"}, {"status", "ok"}, {"acc", 0.5}});
  files.complete();
  const std::vector<std::string> events = events_of(event_files(files).at(0));
  REQUIRE(events.size() == 4);
  CHECK(has_text(events[2], "ray/tune/acc"));
  CHECK_FALSE(has_text(events[2], "loss"));
  CHECK_FALSE(has_text(events[2], "status"));
}

TEST_CASE("ME-11: TensorBoard shows true as 1", "[ME-11]") {
  TrialFiles files({"tensorboard"});
  files.start();
  files.report(1, {{"converged", true}, {"tokens", INT64_C(9007199254740993)}});
  files.complete();
  const std::string event = events_of(event_files(files).at(0)).at(2);
  CHECK(has_text(event, scalar("converged", 1)));
  CHECK(has_text(event, scalar("tokens", 9007199254740993.0F)));
}

TEST_CASE("LO-05: parameters of every type are in the start record", "[LO-05]") {
  TrialFiles files({"tensorboard"});
  files.start({{"int", 3},
               {"bool", true},
               {"list", {1, 2}},
               {"null", nullptr},
               {"map", {{"depth", 4}, {"deep", {{"x", "y"}}}}},
               {"empty", Json::object()},
               {"text", "a\xFFz"}});
  files.report(1, {{"loss", 1.0}});
  files.complete();
  const std::string start = events_of(event_files(files).at(0)).at(1);
  CHECK(has_text(start, "[1,2]"));
  CHECK(has_text(start, "null"));
  CHECK(has_text(start, R"({"deep":{"x":"y"},"depth":4})"));
  CHECK(has_text(start, "map/depth"));
  CHECK(has_text(start, "map/deep/x"));
  CHECK(has_text(start, "{}"));
  CHECK(has_text(start, "a\xEF\xBF\xBDz"));
}

TEST_CASE("PE-04: large parameters are not in the start record", "[PE-04]") {
  TrialFiles files({"tensorboard"});
  files.start({{"lr", 0.1}, {"table", std::vector<int>(5000, 1)}});
  files.report(1, {{"loss", 1.0}});
  files.complete();
  const std::string start = events_of(event_files(files).at(0)).at(1);
  CHECK(has_text(start, "lr"));
  CHECK_FALSE(has_text(start, "table"));
}

TEST_CASE("a trial that goes back begins an event file that takes the later steps away",
          "[tensorboard]") {
  TrialFiles files({"tensorboard"});
  files.start();
  for (int i = 1; i <= 5; ++i) files.report(i, {{"loss", i}});
  files.fail();
  files.start(Json::object(), 2);
  files.idle();
  CHECK(event_files(files).size() == 1);  // nothing is taken away before it reports
  files.report(3, {{"loss", 30}});
  files.end_with_error();

  const auto paths = event_files(files);
  REQUIRE(paths.size() == 2);  // in the order in which TensorBoard reads them
  CHECK(events_of(paths[0]).size() == 7);
  const std::vector<std::string> events = events_of(paths[1]);
  REQUIRE(events.size() == 4);
  CHECK(has_text(events[0], "brain.Event:2"));
  // step 3, session_log {status: START}
  CHECK(events[1].substr(9) == std::string("\x10\x03\x3A\x02\x08\x01"));
  CHECK(has_text(events[2], scalar("loss", 30)));
  CHECK(has_text(events[3], "_hparams_/session_end_info"));
}

}  // namespace
}  // namespace tune
