// Metrics in the Prometheus text format 0.0.4, on prometheus-cpp core.
//
// A family is created once, by name, with a fixed list of label names; a child is one combination of label values. Keep
// the reference to a child: with() takes a lock (170 ns), using the child does not (12 ns). Never use the name of a
// claim or a pod as a label value; a family keeps at most kMaxChildren children and counts the rest under "overflow".
//
// Misuse (a name or label that Prometheus rejects, multi-line HELP, a second registration that differs from the first,
// a wrong number of label values) is a bug and throws CheckFailed.
//
// Safe from any thread. References live as long as the Registry.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dra::metrics {

constexpr size_t kMaxChildren = 2000;

// Only goes up. Negative or NaN increments are a bug.
class Counter {
 public:
  virtual ~Counter() = default;
  virtual void increment(double by = 1) = 0;
  virtual double value() const = 0;
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void set(double value) = 0;
  virtual void add(double by) = 0;
  virtual double value() const = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void observe(double value) = 0;
  // The number of observations, and their sum.
  virtual uint64_t count() const = 0;
  virtual double sum() const = 0;
};

using LabelValues = std::vector<std::string>;

// A family of metrics of one kind; with() creates the child on first use.
template <class M>
class Family {
 public:
  virtual ~Family() = default;
  virtual M& with(const LabelValues& values) = 0;
  // Removes a child, so that it is no longer served; its reference from with() becomes invalid.
  virtual void remove(const LabelValues& values) = 0;
};
using CounterFamily = Family<Counter>;
using GaugeFamily = Family<Gauge>;
using HistogramFamily = Family<Histogram>;

// A family whose series are replaced all at once: no scrape sees a part of them, or a new counter still at 0 that would
// then seem to jump. Series beyond kMaxTableSeries are left out.
constexpr size_t kMaxTableSeries = 3000;
class Table {
 public:
  virtual ~Table() = default;
  virtual void replace(std::map<LabelValues, double> series) = 0;
};

// `count` bounds: start, start*factor, ...
std::vector<double> exponential_buckets(double start, double factor, int count);

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // A repeated call with the same name, kind and labels returns the same family. HELP starts with the stability level,
  // as in "[ALPHA] Number of ...".
  CounterFamily& counters(const std::string& name, const std::string& help, const std::vector<std::string>& labels);
  GaugeFamily& gauges(const std::string& name, const std::string& help, const std::vector<std::string>& labels);
  // `buckets` ascending, without +Inf.
  HistogramFamily& histograms(const std::string& name, const std::string& help, const std::vector<std::string>& labels,
                              const std::vector<double>& buckets);

  // Of counters the caller gives totals that never go down.
  Table& counter_table(const std::string& name, const std::string& help, const std::vector<std::string>& labels);
  Table& gauge_table(const std::string& name, const std::string& help, const std::vector<std::string>& labels);

  // Metrics without labels; served as 0 from the start.
  Counter& counter(const std::string& name, const std::string& help);
  Gauge& gauge(const std::string& name, const std::string& help);
  Histogram& histogram(const std::string& name, const std::string& help, const std::vector<double>& buckets);

  // Runs in each refresh(), to set gauges that are cheaper to compute on demand. Must not register metrics.
  void before_collect(std::function<void()> refresh);
  // The same for what takes long: `step` does some of it, and returns true when nothing is left.
  void before_collect_in_steps(std::function<bool()> step);

  // process_cpu_seconds_total, process_resident_memory_bytes and the other standard figures, read from /proc.
  void add_process_metrics();

  // The registered families, by name: everything text() can serve.
  struct FamilyInfo {
    std::string name;
    std::string type;  // "counter", "gauge" or "histogram"
    std::string help;
    std::vector<std::string> labels;
  };
  std::vector<FamilyInfo> families() const;

  // Sets the gauges of before_collect(): on the thread that owns what they read.
  void refresh() const;
  // Some milliseconds of a refresh(); true when that was the last of it, and the next call begins another.
  bool refresh_some() const;
  // The exposition: families by name, children by label values, so equal state yields equal text. 1,600 series take
  // some 10 ms, on any thread: no lock that with() or an update takes is held for longer than it takes to copy one
  // family.
  std::string refreshed_text() const;
  // Both at once.
  std::string text() const;
  // The Content-Type of /metrics.
  static std::string_view content_type();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dra::metrics
