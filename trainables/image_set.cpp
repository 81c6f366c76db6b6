#include "trainables/image_set.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "trainables/idx.hpp"

namespace tune::trainables {
namespace {

/// Read-only image sets, kept until the process ends so that trials that follow each other share
/// them too.
class ImageSetCache {
 public:
  std::shared_ptr<const ImageSet> find_or_load(const std::filesystem::path& folder,
                                               ImageSplit split) {
    const std::lock_guard lock(mutex_);  // held while loading: the others want the same set
    std::shared_ptr<const ImageSet>& entry = sets_[{folder.lexically_normal(), split}];
    if (!entry) entry = std::make_shared<const ImageSet>(load_image_set(folder, split));
    return entry;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::filesystem::path, ImageSplit>, std::shared_ptr<const ImageSet>> sets_;
};

}  // namespace

ImageSet load_image_set(const std::filesystem::path& folder, ImageSplit split) {
  const std::string prefix = split == ImageSplit::train ? "train" : "t10k";
  const std::filesystem::path images_file = folder / (prefix + "-images-idx3-ubyte.gz");
  const std::filesystem::path labels_file = folder / (prefix + "-labels-idx1-ubyte.gz");
  IdxArray images = read_idx(images_file, 3);
  IdxArray labels = read_idx(labels_file, 1);
  if (labels.values.size() != images.dimensions[0]) {
    throw std::runtime_error(labels_file.string() + ": " + std::to_string(labels.values.size()) +
                             " labels, want " + std::to_string(images.dimensions[0]) +
                             ", one for each image of " + images_file.string());
  }
  ImageSet set;
  set.image_size = images.dimensions[1] * images.dimensions[2];
  set.classes = std::size_t{*std::ranges::max_element(labels.values)} + 1;
  set.pixels = std::move(images.values);
  set.labels = std::move(labels.values);
  return set;
}

std::shared_ptr<const ImageSet> shared_image_set(const std::filesystem::path& folder,
                                                 ImageSplit split) {
  static ImageSetCache cache;
  return cache.find_or_load(folder, split);
}

}  // namespace tune::trainables
