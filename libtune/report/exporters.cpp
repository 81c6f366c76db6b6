#include "report/exporters.hpp"

#include <stdexcept>
#include <utility>

#include "csv_exporter.hpp"
#include "json_exporter.hpp"
#include "tensorboard_exporter.hpp"

namespace tune::report {

const std::vector<std::string>& exporter_names() {
  static const std::vector<std::string> names = {"json", "csv", "tensorboard"};
  return names;
}

std::shared_ptr<Exporter> make_exporter(const std::string& name, std::shared_ptr<FilePool> files) {
  if (name == "json") return std::make_shared<JsonExporter>(std::move(files));
  if (name == "csv") return std::make_shared<CsvExporter>(std::move(files));
  if (name == "tensorboard") return std::make_shared<TensorboardExporter>(std::move(files));
  std::string allowed;
  for (const std::string& known : exporter_names()) {
    allowed += (allowed.empty() ? "" : ", ") + known;
  }
  throw std::invalid_argument("exporters: there is no exporter \"" + name +
                              "\"; allowed are: " + allowed);
}

}  // namespace tune::report
