#include "pkg/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "pkg/base/check.h"
#include "pkg/metrics/process.h"

namespace dra::metrics {
namespace {

class CounterChild : public Counter {
 public:
  explicit CounterChild(prometheus::Counter& c) : counter_(c) {}
  void increment(double by) override {
    DRA_CHECK(by >= 0);
    counter_.Increment(by);
  }
  double value() const override { return counter_.Value(); }
  prometheus::Counter* raw() { return &counter_; }

 private:
  prometheus::Counter& counter_;
};

class GaugeChild : public Gauge {
 public:
  explicit GaugeChild(prometheus::Gauge& g) : gauge_(g) {}
  void set(double value) override { gauge_.Set(value); }
  void add(double by) override { gauge_.Increment(by); }
  double value() const override { return gauge_.Value(); }
  prometheus::Gauge* raw() { return &gauge_; }

 private:
  prometheus::Gauge& gauge_;
};

class HistogramChild : public Histogram {
 public:
  explicit HistogramChild(prometheus::Histogram& h) : histogram_(h) {}
  void observe(double value) override { histogram_.Observe(value); }
  uint64_t count() const override { return histogram_.Collect().histogram.sample_count; }
  double sum() const override { return histogram_.Collect().histogram.sample_sum; }
  prometheus::Histogram* raw() { return &histogram_; }

 private:
  prometheus::Histogram& histogram_;
};

bool valid_name(const std::string& name, bool colon_allowed) {
  if (name.empty()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    char c = name[i];
    bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colon_allowed && c == ':') ||
              (i > 0 && c >= '0' && c <= '9');
    if (!ok) return false;
  }
  return true;
}

void require(bool condition, const std::string& name, const char* what) {
  if (!condition) throw CheckFailed("metric \"" + name + "\": " + what);
}

// Common to all families: the checks, and a collection in label order.
class FamilyBase {
 public:
  FamilyBase(std::string name, std::string help, std::vector<std::string> labels, std::vector<double> buckets)
      : name_(std::move(name)), help_(std::move(help)), labels_(std::move(labels)), buckets_(std::move(buckets)) {
    require(valid_name(name_, true), name_, "is not a metric name");
    // prometheus-cpp writes HELP verbatim; a newline or a backslash would break or change the exposition.
    require(!help_.empty() && help_.find_first_of("\n\r\\") == std::string::npos, name_,
            "HELP must be one line without backslashes");
    for (const auto& label : labels_) {
      require(valid_name(label, false) && label.rfind("__", 0) != 0 && label != "le" && label != "quantile", name_,
              "has an invalid label name");
    }
    require(std::is_sorted(buckets_.begin(), buckets_.end()), name_, "buckets must ascend");
  }
  virtual ~FamilyBase() = default;
  virtual std::vector<prometheus::MetricFamily> collect() const = 0;
  virtual const char* type() const = 0;

  const std::string& name() const { return name_; }
  const std::string& help() const { return help_; }
  const std::vector<std::string>& labels() const { return labels_; }
  bool same_shape(const std::string& help, const std::vector<std::string>& labels,
                  const std::vector<double>& buckets) const {
    return help == help_ && labels == labels_ && buckets == buckets_;
  }

 protected:
  prometheus::Labels label_map(const LabelValues& values) const {
    require(values.size() == labels_.size(), name_, "wrong number of label values");
    prometheus::Labels map;
    for (size_t i = 0; i < values.size(); ++i) map[labels_[i]] = values[i];
    return map;
  }
  const std::vector<double>& buckets() const { return buckets_; }
  size_t label_count() const { return labels_.size(); }

 private:
  std::string name_;
  std::string help_;
  std::vector<std::string> labels_;
  std::vector<double> buckets_;
};

template <class Facade, class Child, class Raw>
class FamilyOf : public Family<Facade>, public FamilyBase {
 public:
  FamilyOf(std::string name, std::string help, std::vector<std::string> labels, std::vector<double> buckets)
      : FamilyBase(std::move(name), std::move(help), std::move(labels), std::move(buckets)),
        raw_(FamilyBase::name(), FamilyBase::help(), {}) {}

  Facade& with(const LabelValues& values) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (auto it = children_.find(values); it != children_.end()) return *it->second;
    require(values.size() == label_count(), name(), "wrong number of label values");
    if (children_.size() >= kMaxChildren) return make(LabelValues(label_count(), "overflow"));
    return make(values);
  }

  void remove(const LabelValues& values) override {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = children_.find(values);
    if (it == children_.end()) return;
    raw_.Remove(it->second->raw());
    children_.erase(it);
  }

  std::vector<prometheus::MetricFamily> collect() const override { return raw_.Collect(); }
  const char* type() const override {
    if constexpr (std::is_same_v<Raw, prometheus::Counter>) return "counter";
    if constexpr (std::is_same_v<Raw, prometheus::Gauge>) return "gauge";
    return "histogram";
  }

 private:
  Facade& make(const LabelValues& values) {
    auto& child = children_[values];
    if (!child) {
      if constexpr (std::is_same_v<Raw, prometheus::Histogram>) {
        child = std::make_unique<Child>(raw_.Add(label_map(values), buckets()));
      } else {
        child = std::make_unique<Child>(raw_.Add(label_map(values)));
      }
    }
    return *child;
  }

  std::mutex mutex_;
  prometheus::Family<Raw> raw_;
  std::map<LabelValues, std::unique_ptr<Child>> children_;
};

using CounterFamilyImpl = FamilyOf<Counter, CounterChild, prometheus::Counter>;
using GaugeFamilyImpl = FamilyOf<Gauge, GaugeChild, prometheus::Gauge>;
using HistogramFamilyImpl = FamilyOf<Histogram, HistogramChild, prometheus::Histogram>;

template <prometheus::MetricType kType>
class TableOf : public Table, public FamilyBase {
 public:
  using FamilyBase::FamilyBase;

  void replace(std::map<LabelValues, double> series) override {
    if (series.size() > kMaxTableSeries) series.erase(std::next(series.begin(), kMaxTableSeries), series.end());
    for (const auto& [values, value] : series) {
      require(values.size() == label_count(), name(), "wrong number of label values");
      require(std::isfinite(value), name(), "a value is not finite");
    }
    std::lock_guard<std::mutex> lock(mutex_);
    series_ = std::move(series);
  }

  std::vector<prometheus::MetricFamily> collect() const override {
    std::map<LabelValues, double> series;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      series = series_;
    }
    if (series.empty()) return {};
    prometheus::MetricFamily family;
    family.name = name();
    family.help = help();
    family.type = kType;
    for (const auto& [values, value] : series) {
      prometheus::ClientMetric metric;
      for (const auto& [label, text] : label_map(values)) metric.label.push_back({label, text});
      (kType == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
      family.metric.push_back(std::move(metric));
    }
    return {std::move(family)};
  }
  const char* type() const override { return kType == prometheus::MetricType::Counter ? "counter" : "gauge"; }

 private:
  mutable std::mutex mutex_;
  std::map<LabelValues, double> series_;
};

using CounterTable = TableOf<prometheus::MetricType::Counter>;
using GaugeTable = TableOf<prometheus::MetricType::Gauge>;

}  // namespace

std::vector<double> exponential_buckets(double start, double factor, int count) {
  DRA_CHECK(start > 0 && factor > 1 && count > 0);
  std::vector<double> buckets;
  for (int i = 0; i < count; ++i, start *= factor) buckets.push_back(start);
  return buckets;
}

struct Registry::State {
  mutable std::mutex mutex;
  std::map<std::string, std::unique_ptr<FamilyBase>> families;
  std::vector<std::function<bool()>> refreshers;
  size_t next_refresher = 0;  // of refresh_some()

  template <class Impl>
  Impl& family(const std::string& name, const std::string& help, const std::vector<std::string>& labels,
               const std::vector<double>& buckets) {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = families.find(name);
    if (it == families.end()) {
      it = families.emplace(name, std::make_unique<Impl>(name, help, labels, buckets)).first;
    }
    auto* impl = dynamic_cast<Impl*>(it->second.get());
    require(impl != nullptr && impl->same_shape(help, labels, buckets), name, "registered twice in different shapes");
    return *impl;
  }
};

Registry::Registry() : state_(std::make_unique<State>()) {}
Registry::~Registry() = default;

CounterFamily& Registry::counters(const std::string& name, const std::string& help,
                                  const std::vector<std::string>& labels) {
  return state_->family<CounterFamilyImpl>(name, help, labels, {});
}

GaugeFamily& Registry::gauges(const std::string& name, const std::string& help,
                              const std::vector<std::string>& labels) {
  return state_->family<GaugeFamilyImpl>(name, help, labels, {});
}

HistogramFamily& Registry::histograms(const std::string& name, const std::string& help,
                                      const std::vector<std::string>& labels, const std::vector<double>& buckets) {
  return state_->family<HistogramFamilyImpl>(name, help, labels, buckets);
}

Table& Registry::counter_table(const std::string& name, const std::string& help,
                               const std::vector<std::string>& labels) {
  return state_->family<CounterTable>(name, help, labels, {});
}

Table& Registry::gauge_table(const std::string& name, const std::string& help, const std::vector<std::string>& labels) {
  return state_->family<GaugeTable>(name, help, labels, {});
}

Counter& Registry::counter(const std::string& name, const std::string& help) {
  return counters(name, help, {}).with({});
}

Gauge& Registry::gauge(const std::string& name, const std::string& help) {
  return gauges(name, help, {}).with({});
}

Histogram& Registry::histogram(const std::string& name, const std::string& help, const std::vector<double>& buckets) {
  return histograms(name, help, {}, buckets).with({});
}

void Registry::before_collect(std::function<void()> refresh) {
  before_collect_in_steps([refresh = std::move(refresh)] {
    refresh();
    return true;
  });
}

void Registry::before_collect_in_steps(std::function<bool()> step) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->refreshers.push_back(std::move(step));
}

void Registry::add_process_metrics() {
  register_process_metrics(*this);
}

std::vector<Registry::FamilyInfo> Registry::families() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  std::vector<FamilyInfo> all;
  for (const auto& [name, family] : state_->families)
    all.push_back({name, family->type(), family->help(), family->labels()});
  return all;
}

void Registry::refresh() const {
  std::vector<std::function<bool()>> refreshers;
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    refreshers = state_->refreshers;
  }
  for (auto& step : refreshers)
    while (!step()) {
    }
}

bool Registry::refresh_some() const {
  std::function<bool()> step;
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->refreshers.empty()) return true;
    step = state_->refreshers[state_->next_refresher];
  }
  if (!step()) return false;
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->next_refresher = (state_->next_refresher + 1) % state_->refreshers.size();
  return state_->next_refresher == 0;
}

std::string Registry::refreshed_text() const {
  std::vector<const FamilyBase*> families;  // none is ever removed
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    for (const auto& [name, family] : state_->families) families.push_back(family.get());
  }
  std::vector<prometheus::MetricFamily> all;
  for (const FamilyBase* family : families)
    for (auto& collected : family->collect()) {
      auto by_labels = [](const prometheus::ClientMetric& a, const prometheus::ClientMetric& b) {
        return a.label < b.label;
      };
      std::sort(collected.metric.begin(), collected.metric.end(), by_labels);
      all.push_back(std::move(collected));
    }
  return prometheus::TextSerializer().Serialize(all);
}

std::string Registry::text() const {
  refresh();
  return refreshed_text();
}

std::string_view Registry::content_type() {
  return "text/plain; version=0.0.4; charset=utf-8";
}

}  // namespace dra::metrics
