#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/json.hpp>
#include <tune/trainables/mlp.hpp>

#include "support/skip.hpp"
#include "trainables/image_set.hpp"

namespace tune::trainables {
namespace {

TEST_CASE("mlp learns Fashion-MNIST from Debian's files", "[mlp]") {
  const std::filesystem::path folder = fashion_mnist_folder;
  if (!std::filesystem::exists(folder)) {
    return test::skip_test(folder.string() + " is absent, install dataset-fashion-mnist");
  }
  const std::shared_ptr<const ImageSet> train = shared_image_set(folder, ImageSplit::train);
  CHECK(train->size() == 60000);
  CHECK(train->image_size == 28 * 28);
  CHECK(train->classes == 10);
  std::vector<int> counts(10);
  for (const std::uint8_t label : train->labels) ++counts[label];
  CHECK(counts == std::vector<int>(10, 6000));

  Mlp mlp;
  TrialContext context;
  context.seed = 1;
  mlp.set_context(context);
  mlp.setup(Config(Json{{"hidden", 64}, {"batch_size", 256}, {"lr", 0.003}}));
  const Metrics result = mlp.step();
  CHECK(result.at("val_accuracy").as_double() > 0.80);
  const Evaluation test = mlp.evaluate_test();
  CHECK(test.images == 10000);
  CHECK(test.accuracy > 0.80);
}

}  // namespace
}  // namespace tune::trainables
