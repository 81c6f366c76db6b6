#include "output_file.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace tune::runtime {
namespace {

constexpr std::size_t max_shown_line = 4096;
constexpr std::size_t max_last_bytes = 8192;

}  // namespace

OutputFile::OutputFile(std::filesystem::path path, std::string label,
                       const OutputPump::Options& options)
    : options_(options),
      path_(std::move(path)),
      label_(std::move(label)),
      head_room_(options.max_head_bytes) {}

void OutputFile::open() {
  std::error_code error;
  std::filesystem::create_directories(path_.parent_path(), error);
  file_.open(path_, std::ios::binary | std::ios::app);
  const std::uintmax_t size = std::filesystem::file_size(path_, error);
  if (!error) head_room_ -= std::min<std::uint64_t>(head_room_, size);
}

void OutputFile::write(std::string_view bytes) {
  if (!std::exchange(is_opened_, true)) open();
  if (options_.show) show(bytes);
  const auto head = static_cast<std::size_t>(std::min<std::uint64_t>(head_room_, bytes.size()));
  file_.write(bytes.data(), static_cast<std::streamsize>(head));
  file_.flush();
  head_room_ -= head;
  beyond_head_ += bytes.size() - head;

  tail_.append(bytes.substr(bytes.size() - std::min(bytes.size(), options_.max_tail_bytes)));
  // Cut only now and then: so it costs a constant time a byte.
  if (tail_.size() > 2 * options_.max_tail_bytes) {
    tail_.erase(0, tail_.size() - options_.max_tail_bytes);
  }
}

void OutputFile::close() {
  if (options_.show && !line_.empty()) show("\n");
  if (beyond_head_ > 0) {
    std::string_view rest = tail_;
    rest.remove_prefix(rest.size() - std::min<std::uint64_t>(
                                         {rest.size(), beyond_head_, options_.max_tail_bytes}));
    if (rest.size() < beyond_head_) {
      file_ << "\n[tune: " << beyond_head_ - rest.size() << " bytes are left out here]\n";
    }
    file_ << rest;
  }
  file_.close();
}

std::string OutputFile::last_lines() const {
  std::string_view text = tail_;
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::size_t begin = text.size();
  for (int lines = 0; lines < OutputPump::max_lines && begin != std::string_view::npos; ++lines) {
    begin = begin == 0 ? std::string_view::npos : text.rfind('\n', begin - 1);
  }
  if (begin != std::string_view::npos) text.remove_prefix(begin + 1);
  if (text.size() > max_last_bytes) text.remove_prefix(text.size() - max_last_bytes);
  return std::string(text);
}

void OutputFile::show(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    const bool is_complete = end != std::string_view::npos;
    if (is_complete || line_.size() > max_shown_line) {
      options_.show(label_ + line_ + "\n");
      line_.clear();
    }
    bytes.remove_prefix(is_complete ? end + 1 : bytes.size());
  }
}

}  // namespace tune::runtime
