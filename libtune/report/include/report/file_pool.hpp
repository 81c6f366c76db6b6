#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tune::report {

class FilePool;

/// A file that grows at its end, record by record, through a FilePool; rarely, it gets another
/// form.
///
/// What is appended lies in memory until a flush, which writes whole records; so a reader finds
/// complete lines only. A write that fails leaves the file as it was and the records in memory; so
/// does one to a file that was deleted meanwhile, which would be lost without its beginning.
/// Not for several threads.
class AppendFile {
 public:
  /// The same records in another form.
  using Rewrite = std::function<std::string(std::string_view content)>;

  /// Writes what is left, silently; flush() before where an error matters.
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  /// Adds one record. @throws std::system_error naming the path if the buffer was due for writing.
  void append(std::string_view record);
  /// Takes the last `size_bytes` bytes away and puts `record` there.
  /// @throws std::system_error naming the path. @pre size_bytes <= size_bytes()
  void replace_tail(std::uint64_t size_bytes, std::string_view record);
  /// Cuts the file to its first `size_bytes` bytes. @throws std::system_error naming the path.
  void truncate(std::uint64_t size_bytes);
  /// With the next record that is written, `rewrite(content())` takes the place of the whole file,
  /// through a temporary file and a rename: a reader sees the old file or the new one. Until then
  /// more than otherwise is kept in memory, as much as the file has (but not beyond the pool's
  /// bound): so however often this is called, what is written stays near twice the file.
  /// A later call takes the place of one that waits.
  void rewrite_when_written(Rewrite rewrite) { rewrite_ = std::move(rewrite); }
  /// @throws std::system_error naming the path.
  void flush();
  /// All of it, what is not yet written too. @throws std::system_error naming the path.
  [[nodiscard]] std::string content() const;
  [[nodiscard]] std::uint64_t size_bytes() const { return written_bytes_ + buffer_.size(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  friend class FilePool;
  AppendFile(FilePool& pool, std::filesystem::path path);
  [[nodiscard]] bool is_full() const;
  void require_name(int descriptor) const;
  void write_anew();
  void note_written(std::uint64_t size_bytes);

  FilePool& pool_;
  std::filesystem::path path_;
  std::string buffer_;
  std::uint64_t written_bytes_ = 0;
  Rewrite rewrite_;                              // empty: the next write appends
  int descriptor_ = -1;                          // -1 while closed
  bool is_made_ = false;                         // later opens must not make it again
  bool keeps_content_ = false;                   // the first open does not empty it
  std::list<AppendFile*>::iterator open_place_;  // in FilePool::open_ while descriptor_ >= 0
  std::list<AppendFile*>::iterator
      dirty_place_;  // in FilePool::dirty_ while buffer_ holds anything
};

/// Keeps any number of AppendFiles with few file descriptors: the least recently written are
/// closed, and opened again when they have something to write. Outlives its files.
class FilePool {
 public:
  explicit FilePool(std::size_t max_open = 32);
  ~FilePool();
  FilePool(const FilePool&) = delete;
  FilePool& operator=(const FilePool&) = delete;

  /// A new, empty file at `path`; one that is there already is emptied at the first write.
  [[nodiscard]] std::unique_ptr<AppendFile> create(std::filesystem::path path);
  /// The file at `path` with what it has, made at the first write if it is not there.
  [[nodiscard]] std::unique_ptr<AppendFile> continue_file(std::filesystem::path path);
  /// Writes all that is not yet written, tries every file, then throws the first error, if any.
  /// @throws std::system_error naming the path.
  void flush();
  /// Descriptors open now.
  [[nodiscard]] std::size_t open_files() const { return open_.size(); }
  /// Bytes that wait to be written.
  [[nodiscard]] std::size_t buffered_bytes() const { return buffered_bytes_; }
  /// Bytes written so far, those of rewritten files each time.
  [[nodiscard]] std::uint64_t written_bytes() const { return written_bytes_; }

 private:
  friend class AppendFile;
  int descriptor(AppendFile& file);
  void close(AppendFile& file);
  void note_buffered(AppendFile& file, std::size_t bytes_before);

  std::size_t max_open_;
  std::list<AppendFile*> open_;   // most recently written first
  std::list<AppendFile*> dirty_;  // in the order in which they got their first waiting byte
  std::size_t buffered_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;
};

/// Writes a whole file through a temporary file beside it and a rename.
/// @throws std::system_error naming the path.
void write_file(const std::filesystem::path& path, std::string_view content);
/// Adds to the end of a file, made if it is not there. @throws std::system_error naming the path.
void append_to_file(const std::filesystem::path& path, std::string_view text);
/// @throws std::system_error naming the path.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

}  // namespace tune::report
