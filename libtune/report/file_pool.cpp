#include "report/file_pool.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include <tune/error.hpp>

namespace tune::report {
namespace {

// A buffer this full is written at once (see is_full() for the exception); so are all when together
// they hold this much.
constexpr std::size_t file_buffer_bytes = std::size_t{64} << 10U;
constexpr std::size_t pool_buffer_bytes = std::size_t{16} << 20U;

[[noreturn]] void fail_file(const char* what, const std::filesystem::path& path, int error) {
  throw std::system_error(error, std::generic_category(),
                          "cannot " + std::string(what) + " " + path.string());
}

// Writes all of `content`; the number of the error otherwise.
int write_fully(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(descriptor, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

void write_file(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::path temporary = path;
  temporary.replace_filename("." + path.filename().string() + ".tmp");
  int error = 0;
  {
    const Descriptor file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    error = file.number() < 0 ? errno : write_fully(file.number(), content);
  }
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail_file("write", path, error);
  }
}

void append_to_file(const std::filesystem::path& path, std::string_view text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  const int error = file.number() < 0 ? errno : write_fully(file.number(), text);
  if (error != 0) fail_file("write", path, error);
}

std::string read_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) fail_file("read", path, errno);
  std::string content;
  std::size_t size = 0;
  for (;;) {
    content.resize(size + file_buffer_bytes);
    const ssize_t count = ::read(file.number(), content.data() + size, file_buffer_bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_file("read", path, errno);
    size += static_cast<std::size_t>(count);
    if (count == 0) break;
  }
  content.resize(size);
  return content;
}

AppendFile::AppendFile(FilePool& pool, std::filesystem::path path)
    : pool_(pool), path_(std::move(path)) {}

AppendFile::~AppendFile() {
  try {
    flush();
  } catch (const std::system_error&) {
    // Who cares for the error has called flush().
    const std::size_t lost_bytes = buffer_.size();
    buffer_.clear();
    pool_.note_buffered(*this, lost_bytes);
  }
  pool_.close(*this);
}

void AppendFile::append(std::string_view record) {
  const std::size_t bytes_before = buffer_.size();
  buffer_ += record;
  pool_.note_buffered(*this, bytes_before);
  if (is_full()) flush();
  if (pool_.buffered_bytes_ >= pool_buffer_bytes) pool_.flush();
}

void AppendFile::replace_tail(std::uint64_t size_bytes, std::string_view record) {
  TUNE_ASSERT(size_bytes <= this->size_bytes());
  truncate(this->size_bytes() - size_bytes);
  append(record);
}

void AppendFile::truncate(std::uint64_t size_bytes) {
  if (size_bytes < written_bytes_) {
    if (::ftruncate(pool_.descriptor(*this), static_cast<off_t>(size_bytes)) != 0) {
      fail_file("cut", path_, errno);
    }
    written_bytes_ = size_bytes;
  }
  const std::size_t bytes_before = buffer_.size();
  buffer_.resize(size_bytes - written_bytes_);
  pool_.note_buffered(*this, bytes_before);
}

bool AppendFile::is_full() const {
  if (!rewrite_) return buffer_.size() >= file_buffer_bytes;
  return buffer_.size() >= std::max<std::uint64_t>(file_buffer_bytes, written_bytes_);
}

void AppendFile::flush() {
  if (buffer_.empty()) return;
  if (rewrite_) return write_anew();
  const int descriptor = pool_.descriptor(*this);
  require_name(descriptor);
  if (const int error = write_fully(descriptor, buffer_); error != 0) {
    // A reader shall find whole records. Nothing better can be done if this fails, too.
    if (::ftruncate(descriptor, static_cast<off_t>(written_bytes_)) != 0) pool_.close(*this);
    fail_file("write", path_, error);
  }
  pool_.written_bytes_ += buffer_.size();
  note_written(written_bytes_ + buffer_.size());
}

// What is written to a file without a name is lost.
void AppendFile::require_name(int descriptor) const {
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && status.st_nlink > 0) return;
  fail_file("write", path_, ENOENT);
}

void AppendFile::write_anew() {
  const std::string content = rewrite_(this->content());
  write_file(path_, content);
  pool_.close(*this);  // it is the old file's
  is_made_ = true;
  rewrite_ = nullptr;
  pool_.written_bytes_ += content.size();
  note_written(content.size());
  buffer_.shrink_to_fit();  // it may have become much larger than others do
}

// All is in the file, which has this size.
void AppendFile::note_written(std::uint64_t size_bytes) {
  written_bytes_ = size_bytes;
  const std::size_t bytes_before = buffer_.size();
  buffer_.clear();
  pool_.note_buffered(*this, bytes_before);
}

std::string AppendFile::content() const {
  std::string content;
  if (written_bytes_ > 0) {
    content = read_file(path_);
    content.resize(written_bytes_);
  }
  return content + buffer_;
}

FilePool::FilePool(std::size_t max_open) : max_open_(max_open) { TUNE_ASSERT(max_open > 0); }

FilePool::~FilePool() = default;

std::unique_ptr<AppendFile> FilePool::create(std::filesystem::path path) {
  return std::unique_ptr<AppendFile>(new AppendFile(*this, std::move(path)));
}

std::unique_ptr<AppendFile> FilePool::continue_file(std::filesystem::path path) {
  std::unique_ptr<AppendFile> file = create(std::move(path));
  std::error_code absent;
  const std::uintmax_t size_bytes = std::filesystem::file_size(file->path_, absent);
  if (!absent) file->written_bytes_ = size_bytes;
  file->keeps_content_ = true;
  return file;
}

void FilePool::flush() {
  std::exception_ptr first_error;
  for (auto next = dirty_.begin(); next != dirty_.end();) {
    AppendFile* const file = *next;
    ++next;  // flushing takes the file out of the list
    try {
      file->flush();
    } catch (const std::system_error&) {
      if (!first_error) first_error = std::current_exception();
    }
  }
  if (first_error) std::rethrow_exception(first_error);
}

int FilePool::descriptor(AppendFile& file) {
  if (file.descriptor_ >= 0) {
    open_.splice(open_.begin(), open_, file.open_place_);
    return file.descriptor_;
  }
  while (open_.size() >= max_open_) close(*open_.back());
  // A file that was there and is gone must not come back without its beginning.
  const int first_flags = file.keeps_content_ ? O_CREAT : O_CREAT | O_TRUNC;
  const int flags = file.is_made_ ? 0 : first_flags;
  const int descriptor = ::open(file.path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
  if (descriptor < 0) fail_file("open", file.path_, errno);
  open_.push_front(&file);
  file.open_place_ = open_.begin();
  file.descriptor_ = descriptor;
  file.is_made_ = true;
  return descriptor;
}

void FilePool::close(AppendFile& file) {
  if (file.descriptor_ < 0) return;
  ::close(file.descriptor_);
  file.descriptor_ = -1;
  open_.erase(file.open_place_);
  if (file.buffer_.empty()) file.buffer_.shrink_to_fit();
}

void FilePool::note_buffered(AppendFile& file, std::size_t bytes_before) {
  const std::size_t bytes = file.buffer_.size();
  buffered_bytes_ += bytes - bytes_before;  // unsigned, so right for a decrease, too
  if (bytes_before == 0 && bytes > 0) {
    file.dirty_place_ = dirty_.insert(dirty_.end(), &file);
  } else if (bytes_before > 0 && bytes == 0) {
    dirty_.erase(file.dirty_place_);
  }
}

}  // namespace tune::report
