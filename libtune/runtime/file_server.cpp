#include <cstddef>
#include <string>
#include <utility>

#include <caf/all.hpp>

#include "actor_faults.hpp"
#include "end_after.hpp"
#include "runtime/file_transfer.hpp"
#include "store/served_files.hpp"

namespace tune::runtime {
namespace {

constexpr std::size_t page_bytes = std::size_t{1} << 17U;

/// About what an entry has on the wire.
std::size_t entry_bytes(const store::FileEntry& entry) {
  constexpr std::size_t numbers = 16;
  return entry.path.size() + entry.target.size() + numbers;
}

template <class Answer, class Value>
caf::result<Answer> answer_of(Expected<Value> value) {
  if (!value) return make_wire_error(value.error());
  return Answer{std::move(*value)};
}

/// Has `reader` answer, but does not send the answer in its name.
template <class Answer, class Question>
caf::typed_response_promise<Answer> ask_for(FileServerActor::pointer self,
                                            const FileServerActor& reader, Question& question) {
  auto promise = self->make_response_promise<Answer>();
  self->request(reader, caf::infinite, std::move(question))
      .then([promise](Answer& answer) mutable { promise.deliver(std::move(answer)); },
            [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
  return promise;
}

/// A list is asked for page by page: the last one is kept until its end was given out.
class Lister {
 public:
  explicit Lister(store::ServedFiles files) : files_(std::move(files)) {}

  Expected<DirectoryPage> page(const ListDirectory& question) {
    if (question.from == 0 || question.directory != directory_) {
      auto list = files_.list(question.directory);
      if (!list) return list.error();
      directory_ = question.directory;
      list_ = std::move(*list);
    }
    DirectoryPage page{{}, list_.size()};
    std::size_t bytes = 0;
    for (std::size_t i = question.from; i < list_.size(); ++i) {
      bytes += entry_bytes(list_[i]);
      if (!page.entries.empty() && bytes > page_bytes) break;
      page.entries.push_back(list_[i]);
    }
    if (question.from + page.entries.size() >= list_.size()) {
      directory_.clear();
      list_.clear();
    }
    return page;
  }

 private:
  store::ServedFiles files_;
  std::string directory_;
  store::FileList list_;
};

FileServerActor::behavior_type read_files(FileServerActor::pointer self,
                                          const std::filesystem::path& experiment) {
  watch_for_faults(self);
  const store::ServedFiles files(experiment);
  return {
      [lister = Lister(files)](const ListDirectory& question) mutable {
        return answer_of<DirectoryPage>(lister.page(question));
      },
      [=](const ReadPiece& piece) {
        return answer_of<PieceRead>(
            files.read(piece.directory, piece.file, piece.offset, piece.size_bytes));
      },
      [=](const HashPiece& piece) {
        return answer_of<PieceHash>(
            files.hash(piece.directory, piece.file, piece.offset, piece.size_bytes));
      },
  };
}

}  // namespace

FileServerActor::behavior_type serve_files(FileServerActor::pointer self,
                                           const std::filesystem::path& experiment) {
  watch_for_faults(self);
  const auto reader = self->spawn<caf::detached + caf::linked>(read_files, experiment);
  end_after(self, reader.address());
  return {
      [=](ListDirectory& question) { return ask_for<DirectoryPage>(self, reader, question); },
      [=](ReadPiece& question) { return ask_for<PieceRead>(self, reader, question); },
      [=](HashPiece& question) { return ask_for<PieceHash>(self, reader, question); },
  };
}

}  // namespace tune::runtime
