#include "trainables/mlp/checkpoint_file.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "image_files.hpp"
#include "support/temporary_folder.hpp"

namespace tune::trainables {
namespace {

using Catch::Matchers::Contains;

MlpState small_state() {
  return {.sizes = {2, 1},
          .optimizer = "adam",
          .epochs = 3,
          .optimizer_steps = 12,
          .parameters = {0.1F, -0.0F, 1e-45F},
          .optimizer_state = {{1, 2, 3}, {4, 5, std::numeric_limits<float>::infinity()}}};
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

TEST_CASE("a checkpoint file brings back every bit", "[mlp][checkpoint]") {
  const test::TemporaryFolder folder;
  MlpState state = small_state();
  state.parameters[0] = std::bit_cast<float>(0x7fc12345U);  // a NaN with a payload
  write_checkpoint_file(folder.path() / "mlp.bin", state);
  const MlpState back = read_checkpoint_file(folder.path() / "mlp.bin");
  CHECK(back.sizes == state.sizes);
  CHECK(back.optimizer == state.optimizer);
  CHECK(back.epochs == 3);
  CHECK(back.optimizer_steps == 12);
  CHECK(bits_of(back.parameters) == bits_of(state.parameters));
  CHECK(back.optimizer_state == state.optimizer_state);
}

TEST_CASE("a checkpoint file that is cut, lengthened or changed anywhere is refused by name",
          "[mlp][checkpoint]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "mlp.bin";
  write_checkpoint_file(file, small_state());
  const std::string whole = test::read_bytes(file);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    INFO("at byte " << i << " of " << whole.size());
    test::write_plain(file, whole.substr(0, i));
    CHECK_THROWS_WITH(read_checkpoint_file(file), Contains("checkpoint " + file.string()));
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    test::write_plain(file, changed);
    CHECK_THROWS_WITH(read_checkpoint_file(file), Contains("checkpoint " + file.string()));
  }
  test::write_plain(file, whole + "x");
  CHECK_THROWS_WITH(read_checkpoint_file(file), Contains("checksum"));
}

TEST_CASE("a checkpoint file says what it is not", "[mlp][checkpoint]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "mlp.bin";
  CHECK_THROWS_WITH(read_checkpoint_file(file), Contains("cannot open: No such file"));
  test::write_plain(file, "short");
  CHECK_THROWS_WITH(read_checkpoint_file(file), Contains("5 bytes, want at least 16"));
  test::write_plain(file, "a text that somebody else left behind");
  CHECK_THROWS_WITH(read_checkpoint_file(file), Contains("does not begin with \"tune-mlp\""));
  write_checkpoint_file(file, small_state());
  std::string other_version = test::read_bytes(file);
  other_version[8] = 2;
  test::write_plain(file, other_version);
  CHECK_THROWS_WITH(read_checkpoint_file(file), Contains("version 2, want 1"));
}

TEST_CASE("a checkpoint file whose sizes contradict each other is refused", "[mlp][checkpoint]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "mlp.bin";
  MlpState state = small_state();
  SECTION("an optimizer array of another length") {
    state.optimizer_state[1].pop_back();
    write_checkpoint_file(file, state);
    CHECK_THROWS_WITH(read_checkpoint_file(file),
                      Contains("optimizer array 1 has 2 elements, want 3"));
  }
  SECTION("a negative count") {
    state.epochs = -1;
    write_checkpoint_file(file, state);
    CHECK_THROWS_WITH(read_checkpoint_file(file), Contains("-1 epochs"));
  }
}

TEST_CASE("a checkpoint that cannot be written is an error with file and reason",
          "[mlp][checkpoint]") {
  CHECK_THROWS_WITH(write_checkpoint_file("/nowhere/mlp.bin", small_state()),
                    Contains("/nowhere/mlp.bin") && Contains("No such file"));
  // A device that is always full stands for a full disk.
  CHECK_THROWS_WITH(write_checkpoint_file("/dev/full", small_state()),
                    Contains("/dev/full") && Contains("No space left"));
}

}  // namespace
}  // namespace tune::trainables
