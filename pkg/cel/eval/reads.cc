// Which members of a device an expression can read, found by following its constant paths.
#include <algorithm>
#include <string>
#include <vector>

#include "pkg/cel/check/environment_rep.h"
#include "pkg/cel/eval/lower.h"

namespace dra::cel {
namespace {

// What an expression refers to, as far as the tree shows.
struct Place {
  enum class Kind { kOther, kDevice, kAttributes, kCapacities, kAttributeDomain, kCapacityDomain };
  Kind kind = Kind::kOther;
  std::string_view domain;
};

class ReadFinder {
 public:
  explicit ReadFinder(uint32_t nodes) : places_(nodes), done_(nodes) {}

  Reads run(const Expr* root) {
    use(root);
    auto tidy = [](auto& list) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    };
    tidy(reads_.attributes);
    tidy(reads_.capacities);
    return std::move(reads_);
  }

 private:
  using PlaceKind = Place::Kind;

  // The value itself matters: a place includes everything below it.
  void use(const Expr* e) {
    Place p = place(e);
    switch (p.kind) {
      case PlaceKind::kOther:
        return;
      case PlaceKind::kDevice:
        reads_.driver = reads_.allow_multiple_allocations = true;
        reads_.all_attributes = reads_.all_capacities = true;
        return;
      case PlaceKind::kAttributes:
      case PlaceKind::kAttributeDomain:
        reads_.all_attributes = true;
        return;
      case PlaceKind::kCapacities:
      case PlaceKind::kCapacityDomain:
        reads_.all_capacities = true;
        return;
    }
  }

  Place place(const Expr* e) {
    if (!done_[e->id]) {
      Place p = find(e);
      places_[e->id] = p;
      done_[e->id] = true;
    }
    return places_[e->id];
  }

  Place find(const Expr* e) {
    switch (e->kind) {
      case ExprKind::kIdent:
        return ident(e);
      case ExprKind::kSelect:
        return e->variable.empty() ? member(e->target, e->name) : Place{};
      case ExprKind::kCall:
        return call(e);
      case ExprKind::kComprehension:
        return fold(*e->fold);
      default:
        for (uint32_t i = 0; i < e->arg_count; ++i) use(e->args[i]);
        return {};
    }
  }

  Place ident(const Expr* e) {
    for (size_t i = locals_.size(); i > 0; --i) {
      if (locals_[i - 1].first == e->variable) return locals_[i - 1].second;
    }
    return e->variable == kDeviceVariable ? Place{PlaceKind::kDevice, {}} : Place{};
  }

  Place member(const Expr* operand, std::string_view name) {
    Place p = place(operand);
    switch (p.kind) {
      case PlaceKind::kOther:
        return {};
      case PlaceKind::kDevice:
        if (name == "attributes") return {PlaceKind::kAttributes, {}};
        if (name == "capacity") return {PlaceKind::kCapacities, {}};
        if (name == "driver") reads_.driver = true;
        if (name == "allowMultipleAllocations") reads_.allow_multiple_allocations = true;
        return {};
      case PlaceKind::kAttributes:
        return {PlaceKind::kAttributeDomain, name};
      case PlaceKind::kCapacities:
        return {PlaceKind::kCapacityDomain, name};
      case PlaceKind::kAttributeDomain:
        reads_.attributes.emplace_back(p.domain, name);
        return {};
      case PlaceKind::kCapacityDomain:
        reads_.capacities.emplace_back(p.domain, name);
        return {};
    }
    return {};
  }

  static bool is_text(const Expr* e) { return e->kind == ExprKind::kConst && e->constant.kind == Kind::kString; }

  Place call(const Expr* e) {
    bool index = e->name == op::kIndex || e->name == op::kOptIndex || e->name == op::kOptSelect;
    if (index && e->target == nullptr) {
      if (is_text(e->args[1])) {
        Place p = member(e->args[0], e->args[1]->constant.str());
        // An optional place is used through functions that are not followed.
        return p;
      }
      use(e->args[0]);
      use(e->args[1]);
      return {};
    }
    if (e->name == op::kIn && e->target == nullptr && is_text(e->args[0])) {
      Place p = place(e->args[1]);
      if (p.kind == PlaceKind::kAttributeDomain || p.kind == PlaceKind::kCapacityDomain) {
        member(e->args[1], e->args[0]->constant.str());
        return {};
      }
    }
    if (e->target != nullptr) use(e->target);
    for (uint32_t i = 0; i < e->arg_count; ++i) use(e->args[i]);
    return {};
  }

  Place fold(const Comprehension& f) {
    if (f.is_bind()) {
      locals_.emplace_back(f.accu_var, place(f.init));
      Place result = place(f.result);
      locals_.pop_back();
      return result;
    }
    use(f.range);
    use(f.init);
    locals_.emplace_back(f.accu_var, Place{});
    locals_.emplace_back(f.iter_var, Place{});
    locals_.emplace_back(f.iter_var2, Place{});
    use(f.condition);
    use(f.step);
    locals_.resize(locals_.size() - 2);
    use(f.result);
    locals_.pop_back();
    return {};
  }

  Reads reads_;
  std::vector<Place> places_;
  std::vector<bool> done_;
  std::vector<std::pair<std::string_view, Place>> locals_;
};

}  // namespace

Reads find_reads(const Expr* root, uint32_t node_count) {
  return ReadFinder(node_count).run(root);
}

}  // namespace dra::cel
