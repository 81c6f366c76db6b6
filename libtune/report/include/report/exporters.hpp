#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/exporter.hpp"
#include "report/file_pool.hpp"

namespace tune::report {

/// The names that make_exporter() knows, in the order of writing: "json", "csv", "tensorboard".
[[nodiscard]] const std::vector<std::string>& exporter_names();

/// Makes the Exporter of one kind of result file:
///
/// - "json": params.json, and result.json with a strict JSON object per result;
/// - "csv": progress.csv, RFC 4180, rewritten with a wider header when a new key appears;
/// - "tensorboard": events.out.tfevents.*, scalars and hyperparameters.
///
/// `files` is shared by all exporters of an experiment.
/// @throws std::invalid_argument for another name, listing those allowed.
[[nodiscard]] std::shared_ptr<Exporter> make_exporter(const std::string& name,
                                                      std::shared_ptr<FilePool> files);

}  // namespace tune::report
