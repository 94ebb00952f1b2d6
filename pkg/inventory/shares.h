// Shares: whether a request may have a share of a device that others share, beside what they have of it: by what
// drivers refuse (pkg/sharing/rules.h) and by what the classes of all of them say (pkg/sharing/policy.h). That a device
// has the capacity is the allocator's business.
//
// What is known of a share (whose, and with which parameters of the driver) is one text, so that shares that agree have
// one number, and a device with thousands of holders a few terms. Costs nothing where no device is shared. Owned by
// DeviceIndex, whose thread it shares.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/inventory/pool.h"
#include "pkg/sharing/policy.h"
#include "pkg/sharing/rules.h"

namespace dra::inventory {

// Of one share; views into its text.
struct ShareTerms {
  std::string_view ns;            // of the claim; empty: unknown
  std::string_view device_class;  // of its request; empty: unknown
  std::string_view parameters;    // as pkg/parameters/effective.h has them
};
// Of the request, or alternative "REQUEST/NAME", of the claim; null: it has none of this name.
const std::string* class_of(const api::ResourceClaim& claim, std::string_view alternative);
std::string share_text(const ShareTerms& terms);
ShareTerms read_share(std::string_view text);

// A share that a request asks.
struct ShareAsk {
  std::string ns, device_class;
  bool ruled = false;  // its class has a policy, or one that cannot be read
  sharing::Order order = sharing::Order::kAny;
  std::string stranger;  // what it is if its parameters are unknown: unique to the claim
  // Of the class, then of the claim: opaque parameters for drivers whose parameters are compared.
  struct Applied {
    std::string driver;
    std::string json;
    bool for_all = false;
  };
  std::vector<Applied> applied;
  std::string key;  // asks with equal keys are treated alike

  // By driver and type of device, made when first asked for.
  mutable std::map<std::pair<std::string, std::string>, std::string> parameters;
};

// A share that a decision would take.
struct ShareTaker {
  const ShareAsk* ask = nullptr;
  const std::vector<Amount>* amounts = nullptr;  // by entry of the device's shape
};

class Shares {
 public:
  // Must outlive this.
  explicit Shares(const Strings& strings) : strings_(strings) {}

  const sharing::Rules& rules() const { return rules_; }
  // Before the first claim: shares keep what was read of them.
  void set_rules(const sharing::Rules& rules) { rules_ = rules; }

  // Of a DeviceClass. Whether its policy is another one now.
  bool apply_class(const std::string& name, const api::StringMap& annotations);
  bool remove_class(std::string_view name);
  // Why the class's policy cannot be read; empty: it can, or there is none.
  std::string why_unreadable(std::string_view device_class) const;

  // Null: nothing about it can matter. `alternative` of this claim: "request" or "request/sub".
  std::shared_ptr<const ShareAsk> ask(const api::ResourceClaim& claim, const std::string& alternative,
                                      const api::DeviceClass& device_class) const;
  // What an allocation says of one of its devices. `of`: its claim; null: unknown.
  std::string terms_of(std::string_view uid, const api::ResourceClaim* of, const api::AllocationResult& allocation,
                       const api::DeviceRequestAllocationResult& result, const std::string& device_type) const;
  // The device's attribute `type`; empty: it has none that is a text.
  std::string type_of(const Pool& pool, uint32_t device) const;

  // Whether all of `takers`, of one namespace, may have the device together, beside those who share it now. `why`: if
  // not, what is in the way, for people; null: nobody asks.
  bool admits(const Pool& pool, uint32_t device, std::span<const ShareTaker> takers, std::string* why) const;
  // Two requests of one claim may not both have a device of this driver. `apart`: where there are other devices.
  bool never_twice(std::string_view driver, bool apart) const {
    const sharing::Requests value = rules_.requests_of(driver);
    return value == sharing::Requests::kNever || (apart && value == sharing::Requests::kApart);
  }
  // Some rule is about who shares a device of this driver.
  bool concerns(std::string_view driver, bool apart) const {
    return never_twice(driver, apart) || rules_.compares(driver) || !policies_.empty();
  }
  // What holders of the device should not have together; empty: nothing. `observed_only`: without what is assumed.
  // `policies`: also by what classes say now, which may be another thing than when the shares were given.
  std::string conflict(const Pool& pool, uint32_t device, bool observed_only, bool policies) const;

 private:
  struct ClassPolicy {
    std::string text;   // of the annotation
    std::string wrong;  // why it cannot be read
    sharing::Policy policy;
  };
  // All shares of a device that agree in namespace and class.
  struct Party {
    std::string_view ns, device_class;
    uint32_t shares = 0;
    std::vector<Amount> sums;
    bool takes = false;  // some of them would be taken now
  };
  const std::string& parameters_of(const ShareAsk& ask, const Pool& pool, uint32_t device) const;
  std::string refused_by_parameters(const Pool& pool, uint32_t device, std::span<const ShareTaker> takers) const;
  std::string refused_by_policies(const Pool& pool, uint32_t device, std::span<const ShareTaker> takers) const;
  std::string broken_policy(const std::string& device_class, const ClassPolicy& of, const std::vector<Party>& parties,
                            const CapacityShape& shape) const;
  static void add_party(std::vector<Party>& parties, Party added);

  const Strings& strings_;
  sharing::Rules rules_;
  std::map<std::string, ClassPolicy, std::less<>> policies_;  // by class
  uint64_t policies_version_ = 0;
};

}  // namespace dra::inventory
