#include "trainables/mlp/optimizer.hpp"

#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

namespace tune::trainables {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("SGD without momentum steps along the gradient", "[mlp][optimizer]") {
  const auto sgd = make_optimizer<double>(SgdOptions{.lr = 0.5, .momentum = 0}, 2);
  std::vector<double> parameters{1, -1};
  sgd->step(parameters, std::vector<double>{2, 4});
  CHECK(parameters == std::vector<double>{0, -3});
  CHECK(sgd->steps() == 1);
  CHECK(sgd->name() == "sgd");
}

TEST_CASE("SGD with momentum: three steps by hand", "[mlp][optimizer]") {
  const auto sgd = make_optimizer<double>(SgdOptions{.lr = 0.125, .momentum = 0.5}, 1);
  std::vector<double> parameters{1};
  sgd->step(parameters, std::vector<double>{2});  // velocity 2
  CHECK(parameters[0] == 0.75);
  sgd->step(parameters, std::vector<double>{1});  // velocity 0.5 * 2 + 1 = 2
  CHECK(parameters[0] == 0.5);
  sgd->step(parameters, std::vector<double>{-3});  // velocity 0.5 * 2 - 3 = -2
  CHECK(parameters[0] == 0.75);
  CHECK(sgd->state().size() == 1);
  CHECK(sgd->state()[0][0] == -2);
}

TEST_CASE("Adam: three steps by hand", "[mlp][optimizer]") {
  // The values are those of the paper's algorithm 1, computed with 40 decimal digits.
  const auto adam = make_optimizer<double>(AdamOptions{.lr = 0.1}, 1);
  std::vector<double> parameters{1};
  adam->step(parameters, std::vector<double>{2});
  CHECK(parameters[0] == Approx(0.9000000004999999975).epsilon(1e-14));
  adam->step(parameters, std::vector<double>{-1});
  CHECK(parameters[0] == Approx(0.8733662967024313578).epsilon(1e-14));
  adam->step(parameters, std::vector<double>{0.5});
  CHECK(parameters[0] == Approx(0.8393233821389424718).epsilon(1e-14));
  REQUIRE(adam->state().size() == 2);
  CHECK(adam->state()[0][0] == Approx(0.122).epsilon(1e-14));
  CHECK(adam->state()[1][0] == Approx(0.005241004).epsilon(1e-14));
  CHECK(adam->steps() == 3);
  CHECK(adam->name() == "adam");
}

TEST_CASE("floats step as doubles do", "[mlp][optimizer]") {
  const auto check_near = [](const OptimizerOptions& options) {
    const auto exact = make_optimizer<double>(options, 3);
    const auto optimizer = make_optimizer<float>(options, 3);
    std::vector<double> wanted{1, 2, 3};
    std::vector<float> parameters{1, 2, 3};
    for (int i = 0; i < 20; ++i) {
      exact->step(wanted, std::vector<double>{0.5, -1.0 + 0.25 * i, 4});
      optimizer->step(parameters, std::vector<float>{0.5F, -1.0F + 0.25F * float(i), 4});
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CHECK(static_cast<double>(parameters[i]) == Approx(wanted[i]).epsilon(1e-5));
    }
  };
  check_near(AdamOptions{.lr = 0.01});
  check_near(SgdOptions{.lr = 0.01, .momentum = 0.9});
}

TEST_CASE("an optimizer goes on from the state of another", "[mlp][optimizer]") {
  const OptimizerOptions options = AdamOptions{.lr = 0.1};
  const auto whole = make_optimizer<float>(options, 1);
  const auto first = make_optimizer<float>(options, 1);
  const auto second = make_optimizer<float>(options, 1);
  std::vector<float> a{1};
  std::vector<float> b{1};
  const std::vector<std::vector<float>> gradients{{2}, {-1}, {0.5}, {3}};
  for (const auto& gradient : gradients) whole->step(a, gradient);
  first->step(b, gradients[0]);
  first->step(b, gradients[1]);
  for (std::size_t i = 0; i < 2; ++i) second->state()[i][0] = first->state()[i][0];
  second->set_steps(first->steps());
  second->step(b, gradients[2]);
  second->step(b, gradients[3]);
  CHECK(a == b);
}

TEST_CASE("optimizer options out of range are refused by name", "[mlp][optimizer]") {
  const auto make = [](const OptimizerOptions& options) {
    (void)make_optimizer<float>(options, 1);
  };
  CHECK_THROWS_WITH(make(SgdOptions{.lr = 0}), Contains("lr is 0, want a value above 0"));
  CHECK_THROWS_WITH(make(SgdOptions{.momentum = 1}), Contains("momentum is 1, allowed is [0, 1)"));
  CHECK_THROWS_WITH(make(AdamOptions{.lr = -1e-9}), Contains("lr is -1e-09"));
  CHECK_THROWS_WITH(make(AdamOptions{.beta1 = 1}), Contains("beta1 is 1"));
  CHECK_THROWS_WITH(make(AdamOptions{.beta2 = -0.5}), Contains("beta2 is -0.5"));
  CHECK_THROWS_AS(make(AdamOptions{.epsilon = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace tune::trainables
