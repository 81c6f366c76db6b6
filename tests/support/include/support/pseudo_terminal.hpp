#pragma once

namespace tune::test {

/// Whether this machine gives out pseudo-terminals; some containers do not.
[[nodiscard]] bool has_pseudo_terminals();

}  // namespace tune::test
