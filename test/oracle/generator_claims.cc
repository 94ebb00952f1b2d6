// Random claims.
#include <array>

#include "test/oracle/generator_dice.h"

namespace dra::oracle {
namespace {

class ClaimMaker {
 public:
  ClaimMaker(int most, const Ingredients& ingredients, Dice& dice) : most_(most), with_(ingredients), dice_(dice) {}

  api::ResourceClaim make(int number) {
    api::ResourceClaim claim;
    claim.metadata.name = "c" + std::to_string(number);
    claim.metadata.ns = "default";
    claim.metadata.uid = "uid-" + std::to_string(number);
    const int requests = dice_.chance(50) ? 1 : dice_.between(1, 3);
    for (int r = 0; r < requests; ++r) {
      api::DeviceRequest request;
      request.name = "r" + std::to_string(r);
      if (dice_.chance(20)) {
        const int alternatives = dice_.between(1, 3);
        for (int a = 0; a < alternatives; ++a) {
          request.first_available.push_back(make_body());
          request.first_available.back().name = "s" + std::to_string(a);
        }
      } else {
        request.exactly = make_body();
        request.exactly->admin_access = dice_.chance(6);
      }
      claim.spec.requests.push_back(std::move(request));
    }
    const int constraints = dice_.chance(50) ? 0 : dice_.between(1, 2);
    for (int c = 0; c < constraints; ++c) claim.spec.constraints.push_back(make_constraint(claim.spec));
    if (dice_.chance(15))
      claim.spec.config.push_back({some_requests(claim.spec), api::OpaqueConfig{kDrivers[1], "{\"n\":1}"}});
    if (dice_.chance(5))
      claim.spec.config.push_back({some_requests(claim.spec), api::OpaqueConfig{kDrivers[0], "{\"n\":2}"}});
    return claim;
  }

 private:
  std::string some_expression() {
    const std::string domain = dice_.chance(75) ? kDrivers[0] : kDrivers[1];
    const std::string attribute = "device.attributes[\"" + domain + "\"].";
    const bool risky = with_.selector_errors && dice_.chance(12);
    if (risky) return attribute + (dice_.chance(50) ? "numa == 0" : "model == \"x\"");
    const std::string guard = "device.driver == \"" + domain + "\" && ";
    switch (dice_.below(8)) {
      case 0:
        return guard + attribute + "model == \"x\"";
      case 1:
        return guard + attribute + "model in [\"x\", \"y\"]";
      case 2:
        return guard + attribute + "index > 0";
      case 3:
        return guard + attribute + "index % 2 == 0";
      case 4:
        return guard + attribute + "version.isGreaterThan(semver(\"1.0.0\"))";
      case 5:
        return "\"numa\" in device.attributes[\"" + domain + "\"] && " + attribute + "numa == 0";
      case 6:
        return "!device.attributes[\"" + domain + "\"].?flag.orValue(false)";
      default:
        return guard + "device.capacity[\"" + domain + "\"].memory.compareTo(quantity(\"20Gi\")) >= 0";
    }
  }

  api::DeviceToleration some_toleration() {
    static const std::array<std::string, 3> kEffects = {"", "NoSchedule", "NoExecute"};
    api::DeviceToleration toleration;
    toleration.effect = dice_.one_of(kEffects);
    toleration.key = dice_.chance(50) ? "k" : dice_.chance(50) ? "" : "l";
    toleration.op = dice_.chance(60) ? "Exists" : dice_.chance(70) ? "Equal" : "";
    // An empty key is valid with either operator, and Equal without a value means an empty one.
    if (toleration.op != "Exists" && dice_.chance(85)) toleration.value = "v";
    return toleration;
  }

  api::DeviceSubRequest make_body() {
    static const std::array<std::string, 6> kClasses = {"any", "any", "a", "a", "b", "a-model-x"};
    api::DeviceSubRequest body;
    body.device_class_name = dice_.one_of(kClasses);
    if (with_.selector_errors && dice_.chance(2)) body.device_class_name = "risky";
    if (dice_.chance(12)) {
      body.allocation_mode = "All";
    } else {
      body.allocation_mode = "ExactCount";
      body.count = dice_.chance(65) ? 1 : dice_.between(2, 3);
      if (most_ > 8 && dice_.chance(60)) body.count = dice_.between(10, most_);
      if (dice_.chance(1)) body.count = 33;
    }
    if (dice_.chance(35)) body.selectors.push_back(some_expression());
    if (dice_.chance(8)) body.selectors.push_back(some_expression());
    if (with_.taints && dice_.chance(25)) {
      body.tolerations.push_back(some_toleration());
      if (dice_.chance(25)) body.tolerations.push_back(some_toleration());
    }
    if (with_.shared_devices && dice_.chance(20)) {
      static const std::array<std::string, 9> kAmounts = {"3Gi", "5Gi", "6Gi",          "10Gi", "20Gi",
                                                          "1",   "0",   "5368709120.5", "8Gi"};
      if (dice_.chance(85)) body.capacity_requests["memory"] = dice_.one_of(kAmounts);
      static const std::array<std::string, 4> kCores = {"2", "1500m", "3", "500m"};
      if (dice_.chance(15)) body.capacity_requests["cores"] = dice_.one_of(kCores);
    }
    return body;
  }

  std::vector<std::string> some_requests(const api::ResourceClaimSpec& spec) {
    std::vector<std::string> out;
    if (dice_.chance(50)) return out;
    for (const api::DeviceRequest& request : spec.requests) {
      if (!dice_.chance(70)) continue;
      if (!request.first_available.empty() && dice_.chance(50))
        out.push_back(request.name + "/" + dice_.one_of(request.first_available).name);
      else
        out.push_back(request.name);
    }
    return out;
  }

  api::DeviceConstraint make_constraint(const api::ResourceClaimSpec& spec) {
    static const std::array<std::string, 7> kAttributes = {"resource.kubernetes.io/pcieRoot",
                                                           "resource.kubernetes.io/pcieRoot",
                                                           "a.example.com/numa",
                                                           "a.example.com/model",
                                                           "example.com/lane",
                                                           "example.com/tags",
                                                           "b.example.com/version"};
    api::DeviceConstraint out;
    out.requests = some_requests(spec);
    (dice_.chance(65) ? out.match_attribute : out.distinct_attribute) = dice_.one_of(kAttributes);
    // If both are set, matchAttribute counts.
    if (dice_.chance(3)) out.match_attribute = out.distinct_attribute = dice_.one_of(kAttributes);
    return out;
  }

  const int most_;
  const Ingredients& with_;
  Dice& dice_;
};

}  // namespace

api::ResourceClaim random_claim(int number, int most, const Ingredients& ingredients, Dice& dice) {
  return ClaimMaker(most, ingredients, dice).make(number);
}

}  // namespace dra::oracle
