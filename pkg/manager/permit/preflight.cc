#include "pkg/manager/permit/preflight.h"

#include <algorithm>

#include "pkg/log/log.h"

namespace dra::manager {

namespace {

constexpr Duration kRetryAfter = std::chrono::seconds(5);
constexpr int kMostFailedRounds = 3;

// No review will be answered: the API is missing, or asking itself is refused.
bool reviews_unavailable(const Error& error) {
  const int status = error.http_status();
  return status == 403 || status == 404 || status == 405;
}

}  // namespace

void Preflight::start(std::function<void()> answered) {
  on_round_ = std::move(answered);
  begin_round();
}

void Preflight::stop() {
  timer_.cancel();
  calls_.clear();
  questions_.clear();
  next_ = 0;
}

bool Preflight::permits(std::string_view controller) const {
  for (const PermissionRole* role : needed_roles(options_)) {
    if (role->controller != controller) continue;
    if (std::any_of(missing_.begin(), missing_.end(), [&](const Missing& m) { return m.role == role->name; }))
      return false;
  }
  return true;
}

bool Preflight::grants(std::string_view role) const {
  return std::none_of(missing_.begin(), missing_.end(), [&](const Missing& m) { return m.role == role; });
}

std::string Preflight::why_not(std::string_view role) const {
  std::string what;
  for (const Missing& one : missing_)
    if (one.role == role) what += (what.empty() ? "" : ", ") + one.permission;
  if (what.empty()) return "";
  return "this manager may not " + what + ": bind the ClusterRole dra-controller-manager:" + std::string(role);
}

void Preflight::begin_round() {
  questions_.clear();
  next_ = 0;
  refused_ = false;
  trouble_.clear();
  std::map<std::string, size_t> known;
  for (const PermissionRole* role : needed_roles(options_)) {
    for (client::Permission& permission : permissions_of(*role, options_)) {
      const auto [found, is_new] = known.emplace(permission_text(permission), questions_.size());
      if (is_new) questions_.push_back({std::move(permission), {}});
      questions_[found->second].roles.push_back(role);
    }
  }
  grants_.assign(questions_.size(), Grant::kUnknown);
  if (questions_.empty()) {
    timer_ = reactor_.after(Duration::zero(), [this] { end_round(); });
    return;
  }
  ask_more();
}

void Preflight::ask_more() {
  while (next_ < questions_.size() && calls_.size() < kMostInFlight && !refused_) {
    const size_t index = next_++;
    calls_[index] = client::check_access(
        client_, questions_[index].permission,
        [this, index](Result<client::AccessAnswer> answer) { answered(index, std::move(answer)); });
  }
}

void Preflight::answered(size_t index, Result<client::AccessAnswer> answer) {
  calls_.erase(index);
  if (answer) {
    grants_[index] = answer->allowed ? Grant::kGranted : Grant::kMissing;
  } else {
    trouble_ = answer.error().message();
    if (reviews_unavailable(answer.error())) refused_ = true;
  }
  ask_more();
  if (calls_.empty() && (refused_ || next_ == questions_.size())) end_round();
}

void Preflight::end_round() {
  const bool unknown = !refused_ && !trouble_.empty();
  if (unknown && ++failed_rounds_ < kMostFailedRounds) {
    log::v(1, "Permissions could not be checked", {{"err", trouble_}, {"again", "5s"}});
    timer_ = reactor_.after(kRetryAfter, [this] { begin_round(); });
    return;
  }
  failed_rounds_ = 0;
  const std::vector<Missing> before = std::move(missing_);
  missing_.clear();
  for (size_t i = 0; i < questions_.size(); ++i) {
    if (grants_[i] != Grant::kMissing) continue;
    for (const PermissionRole* role : questions_[i].roles)
      missing_.push_back(
          {permission_text(questions_[i].permission), std::string(role->name), std::string(role->without)});
  }
  notify_changes(before);
  ++rounds_;
  if (!missing_.empty() || unknown) timer_ = reactor_.after(kRecheck, [this] { begin_round(); });
  on_round_();
}

void Preflight::notify_changes(const std::vector<Missing>& before) const {
  const auto is_in = [](const std::vector<Missing>& list, const Missing& wanted) {
    return std::any_of(list.begin(), list.end(), [&](const Missing& m) { return m.text() == wanted.text(); });
  };
  if (!trouble_.empty() && rounds_ == 0)
    log::info("Permissions cannot be checked, and are taken to be granted", {{"why", trouble_}});
  for (const Missing& m : missing_)
    if (!is_in(before, m)) log::error(Error(Code::kPermissionDenied, m.text()), "A permission is missing");
  for (const Missing& m : before)
    if (!is_in(missing_, m)) log::info("Permission granted", {{"permission", m.permission}, {"role", m.role}});
}

}  // namespace dra::manager
