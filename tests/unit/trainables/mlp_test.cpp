#include <tune/trainables/mlp.hpp>

#include <cmath>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/error.hpp>
#include <tune/json.hpp>

#include "image_files.hpp"
#include "support/temporary_folder.hpp"

namespace tune::trainables {
namespace {

using Catch::Matchers::Contains;
namespace fs = std::filesystem;

/// The tiny data set in a folder of its own, and configurations that use it.
class TinyData {
 public:
  TinyData() { test::write_tiny_data_set(folder_.path()); }

  [[nodiscard]] const fs::path& path() const { return folder_.path(); }
  /// 300 training images in batches of 32: the last batch of an epoch is smaller.
  [[nodiscard]] Config config(const std::string& more = "{}") const {
    Json json = {{"data", path().string()}, {"validation_images", 30}, {"hidden", {12, 8}},
                 {"batch_size", 32},        {"dropout", 0.2},          {"lr", 0.01}};
    json.update(Json::parse(more));
    return Config(json);
  }

 private:
  test::TemporaryFolder folder_;
};

void start(Mlp& mlp, const Config& config, std::uint64_t seed = 1) {
  TrialContext context;
  context.seed = seed;
  mlp.set_context(context);
  mlp.setup(config);
}

std::vector<Metrics> train(Mlp& mlp, int epochs) {
  std::vector<Metrics> results;
  for (int i = 0; i < epochs; ++i) results.push_back(mlp.step());
  return results;
}

/// All that the network is, as bytes.
std::string state_of(Mlp& mlp) {
  const test::TemporaryFolder folder;
  mlp.save_checkpoint(folder.path());
  return test::read_bytes(folder.path() / "mlp.bin");
}

const std::string sgd = R"({"optimizer": "sgd", "lr": 0.05, "momentum": 0.9})";

TEST_CASE("mlp learns a small data set", "[mlp]") {
  const TinyData data;
  for (const std::string& optimizer : {std::string("{}"), sgd}) {
    Mlp mlp;
    start(mlp, data.config(optimizer));
    const std::vector<Metrics> results = train(mlp, 15);
    const Metrics& last = results.back();
    CHECK(last.at("val_accuracy").as_double() >= 0.95);
    CHECK(last.at("val_loss").as_double() < results.front().at("val_loss").as_double());
    CHECK(last.at("train_loss").as_double() < results.front().at("train_loss").as_double());
    CHECK(last.size() == 3);
    const Evaluation test = mlp.evaluate_test();
    CHECK(test.images == 90);
    CHECK(test.accuracy >= 0.95);
    CHECK(test.loss < 0.5);
  }
}

TEST_CASE("mlp goes on from a checkpoint as if never interrupted, bit for bit", "[mlp]") {
  const TinyData data;
  const test::TemporaryFolder checkpoint;
  for (const std::string& optimizer : {std::string("{}"), sgd}) {
    const Config config = data.config(optimizer);
    Mlp whole;
    start(whole, config);
    const std::vector<Metrics> wanted = train(whole, 5);

    Mlp first;
    start(first, config);
    train(first, 2);
    first.save_checkpoint(checkpoint.path());

    Mlp second;
    start(second, config);
    second.load_checkpoint(checkpoint.path());
    CHECK(state_of(second) == state_of(first));
    const std::vector<Metrics> rest = train(second, 3);
    CHECK(rest == std::vector<Metrics>(wanted.begin() + 2, wanted.end()));
    CHECK(state_of(second) == state_of(whole));

    // Saving changes nothing.
    CHECK(train(first, 3) == rest);
  }
}

TEST_CASE("mlp goes back when it loads an older checkpoint", "[mlp]") {
  const TinyData data;
  const test::TemporaryFolder checkpoint;
  Mlp mlp;
  start(mlp, data.config());
  train(mlp, 1);
  mlp.save_checkpoint(checkpoint.path());
  const std::vector<Metrics> once = train(mlp, 3);
  mlp.load_checkpoint(checkpoint.path());
  CHECK(train(mlp, 3) == once);
}

TEST_CASE("mlp is a function of configuration and seed", "[mlp]") {
  const TinyData data;
  const auto results = [&](std::uint64_t seed) {
    Mlp mlp;
    start(mlp, data.config(), seed);
    return train(mlp, 3);
  };
  CHECK(results(1) == results(1));
  CHECK(results(1) != results(2));
}

TEST_CASE("mlp trains the same whatever runs beside it", "[mlp]") {
  const TinyData data;
  const auto results = [&](std::uint64_t seed) {
    Mlp mlp;
    start(mlp, data.config(), seed);
    return train(mlp, 4);
  };
  std::vector<std::future<std::vector<Metrics>>> beside;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    beside.push_back(std::async(std::launch::async, results, seed));
  }
  for (std::uint64_t seed = 0; seed < 4; ++seed) CHECK(beside[seed].get() == results(seed));
}

TEST_CASE("mlp trains a new configuration in the old object", "[mlp]") {
  const TinyData data;
  const test::TemporaryFolder checkpoint;
  Mlp fresh;
  start(fresh, data.config(sgd), 7);
  train(fresh, 2);
  fresh.save_checkpoint(checkpoint.path());
  const std::vector<Metrics> wanted = train(fresh, 2);

  Mlp reused;
  start(reused, data.config(R"({"hidden": 20})"), 3);
  train(reused, 2);
  TrialContext context;
  context.seed = 7;
  reused.set_context(context);
  REQUIRE(reused.reset_config(data.config(sgd)));
  SECTION("from a checkpoint") {
    reused.load_checkpoint(checkpoint.path());
    CHECK(train(reused, 2) == wanted);
  }
  SECTION("from the beginning") {
    Mlp other;
    start(other, data.config(sgd), 7);
    CHECK(train(reused, 2) == train(other, 2));
  }
}

TEST_CASE("mlp refuses a checkpoint that does not fit, and stays as it was", "[mlp]") {
  const TinyData data;
  const test::TemporaryFolder checkpoint;
  Mlp source;
  start(source, data.config());
  train(source, 1);
  source.save_checkpoint(checkpoint.path());

  const auto check_refused = [&](const std::string& changes, const std::string& message) {
    Mlp mlp;
    start(mlp, data.config(changes));
    const std::string before = state_of(mlp);
    CHECK_THROWS_WITH(mlp.load_checkpoint(checkpoint.path()),
                      Contains((checkpoint.path() / "mlp.bin").string()) && Contains(message));
    CHECK(state_of(mlp) == before);
  };
  check_refused(R"({"hidden": 12})", "layer widths 16-12-8-3, want 16-12-3 as configured");
  check_refused(sgd, "optimizer adam, want sgd as configured");
  test::write_plain(checkpoint.path() / "mlp.bin", "damaged");
  check_refused("{}", "7 bytes, want at least 16");
  fs::remove(checkpoint.path() / "mlp.bin");
  check_refused("{}", "No such file");
}

TEST_CASE("mlp takes another learning rate with the checkpoint of the old one", "[mlp]") {
  const TinyData data;
  const test::TemporaryFolder checkpoint;
  Mlp source;
  start(source, data.config());
  train(source, 1);
  source.save_checkpoint(checkpoint.path());
  Mlp clone;
  start(clone, data.config(R"({"lr": 0.002})"));
  clone.load_checkpoint(checkpoint.path());
  CHECK(state_of(clone) == state_of(source));
  CHECK(clone.step() != source.step());
}

TEST_CASE("mlp looks at the test images only when told to evaluate them", "[mlp]") {
  const TinyData data;
  fs::remove(data.path() / "t10k-images-idx3-ubyte.gz");
  Mlp mlp;
  start(mlp, data.config());
  CHECK_NOTHROW(mlp.step());
  CHECK_THROWS_WITH(mlp.evaluate_test(), Contains("t10k-images-idx3-ubyte.gz: cannot open"));
}

TEST_CASE("mlp names what is wrong with its data", "[mlp]") {
  const TinyData data;
  Mlp mlp;
  CHECK_THROWS_AS(start(mlp, data.config(R"({"validation_images": 330})")), InvalidConfig);
  CHECK_THROWS_WITH(start(mlp, data.config(R"({"validation_images": 330})")),
                    Contains("validation_images is 330, allowed is 1 to 329"));
  CHECK_THROWS_WITH(start(mlp, data.config(R"({"data": "/nowhere"})")),
                    Contains("/nowhere/train-images-idx3-ubyte.gz: cannot open"));
  CHECK_THROWS_WITH(Mlp::preload("/nowhere"),
                    Contains("/nowhere/train-images-idx3-ubyte.gz: cannot open"));
  CHECK_NOTHROW(Mlp::preload(data.path()));
}

TEST_CASE("mlp reports a training that diverges as it is", "[mlp]") {
  const TinyData data;
  Mlp mlp;
  start(mlp, data.config(R"({"optimizer": "sgd", "lr": 1e18, "momentum": 0.9})"));
  const Metrics last = train(mlp, 3).back();
  CHECK_FALSE(std::isfinite(last.at("train_loss").as_double()));
  CHECK_FALSE(std::isfinite(last.at("val_loss").as_double()));
  CHECK(last.at("val_accuracy").as_double() == 0);
}

TEST_CASE("mlp can save, as its type says", "[mlp]") {
  CHECK(trainable_spec<Mlp>("Mlp").checkpoints);
}

}  // namespace
}  // namespace tune::trainables
