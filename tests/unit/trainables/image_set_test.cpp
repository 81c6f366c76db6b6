#include "trainables/image_set.hpp"

#include <filesystem>
#include <future>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "image_files.hpp"
#include "support/temporary_folder.hpp"

namespace tune::trainables {
namespace {

using Catch::Matchers::Contains;

constexpr const char* train_images = "train-images-idx3-ubyte.gz";
constexpr const char* train_labels = "train-labels-idx1-ubyte.gz";

TEST_CASE("an image set has its pixels, labels and number of classes", "[image_set]") {
  const test::TemporaryFolder folder;
  const std::vector<std::uint8_t> pixels{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<std::uint8_t> labels{4, 0};
  test::write_gzip(folder.path() / train_images, test::idx_bytes({2, 2, 3}, pixels));
  test::write_gzip(folder.path() / train_labels, test::idx_bytes({2}, labels));
  const ImageSet set = load_image_set(folder.path(), ImageSplit::train);
  CHECK(set.size() == 2);
  CHECK(set.image_size == 6);
  CHECK(set.classes == 5);
  CHECK(set.labels == labels);
  CHECK(std::vector(set.image(1).begin(), set.image(1).end()) ==
        std::vector<std::uint8_t>{7, 8, 9, 10, 11, 12});
}

TEST_CASE("an image set with another number of labels than images is refused", "[image_set]") {
  const test::TemporaryFolder folder;
  test::write_gzip(folder.path() / train_images,
                   test::idx_bytes({2, 1, 2}, std::vector<std::uint8_t>{1, 2, 3, 4}));
  test::write_gzip(folder.path() / train_labels,
                   test::idx_bytes({3}, std::vector<std::uint8_t>{0, 1, 0}));
  CHECK_THROWS_WITH(
      load_image_set(folder.path(), ImageSplit::train),
      Contains(train_labels) && Contains("3 labels, want 2") && Contains(train_images));
}

TEST_CASE("a shared image set is loaded once, also by threads at the same time", "[image_set]") {
  const test::TemporaryFolder folder;
  test::write_tiny_data_set(folder.path());
  std::vector<std::future<std::shared_ptr<const ImageSet>>> loads;
  for (int i = 0; i < 4; ++i) {
    loads.push_back(std::async(std::launch::async,
                               [&] { return shared_image_set(folder.path(), ImageSplit::train); }));
  }
  const std::shared_ptr<const ImageSet> first = loads[0].get();
  CHECK(first->size() == 330);
  for (std::size_t i = 1; i < loads.size(); ++i) CHECK(loads[i].get() == first);
  CHECK(shared_image_set(folder.path() / "." / "", ImageSplit::train)->size() == 330);
  CHECK(shared_image_set(folder.path(), ImageSplit::test)->size() == 90);
}

TEST_CASE("a shared image set that could not be loaded can be later", "[image_set]") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH(shared_image_set(folder.path(), ImageSplit::train), Contains(train_images));
  test::write_tiny_data_set(folder.path());
  CHECK(shared_image_set(folder.path(), ImageSplit::train)->size() == 330);
}

}  // namespace
}  // namespace tune::trainables
