#include <tune/workload.hpp>

#include <stdexcept>
#include <utility>

namespace tune {
namespace {

class CurveModel final : public Workload {
 public:
  explicit CurveModel(CurveFunction curve) : curve_(std::move(curve)) {}
  SimulatedStep step(const SimulatedStart& start, std::int64_t iteration) override {
    return curve_(start.config, iteration);
  }

 private:
  CurveFunction curve_;
};

}  // namespace

Workload::~Workload() = default;
SimulatedSetup Workload::begin(const SimulatedStart&) { return {}; }
std::any Workload::save(const SimulatedStart&, std::int64_t) { return {}; }
void Workload::load(const SimulatedStart&, const std::any&) {}
void Workload::end(const SimulatedStart&, SimulatedEnd) {}
bool Workload::saves_checkpoints() const { return true; }
std::string Workload::name() const { return "simulated"; }

std::unique_ptr<Workload> curve_model(CurveFunction curve) {
  if (!curve) throw std::invalid_argument("curve_model: the function is empty");
  return std::make_unique<CurveModel>(std::move(curve));
}

}  // namespace tune
