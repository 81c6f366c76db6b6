#include "runtime/transfer_messages.hpp"

#include <cstddef>

#include <caf/all.hpp>

namespace tune::runtime {
namespace {

const caf::atom_value wire_category = caf::atom("tune");
constexpr std::size_t longest_text = 1000;  // of another machine's error

}  // namespace

void add_transfer_messages(caf::actor_system_config& config) {
  config.add_message_type<ListDirectory>("tune::ListDirectory")
      .add_message_type<DirectoryPage>("tune::DirectoryPage")
      .add_message_type<ReadPiece>("tune::ReadPiece")
      .add_message_type<PieceRead>("tune::PieceRead")
      .add_message_type<HashPiece>("tune::HashPiece")
      .add_message_type<PieceHash>("tune::PieceHash");
}

caf::error make_wire_error(const Error& error) {
  // CAF takes 0 for no error.
  return {static_cast<std::uint8_t>(static_cast<unsigned>(error.code) + 1), wire_category,
          caf::make_message(error.message)};
}

bool is_wire_error(const caf::error& error) {
  return error && error.category() == wire_category &&
         error.context().match_elements<std::string>() && error.code() > 0 &&
         error.code() <= static_cast<unsigned>(ErrorCode::damaged) + 1;
}

Error read_wire_error(const caf::error& error) {
  TUNE_ASSERT(is_wire_error(error));
  return {static_cast<ErrorCode>(error.code() - 1),
          error.context().get_as<std::string>(0).substr(0, longest_text)};
}

}  // namespace tune::runtime
