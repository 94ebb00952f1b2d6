// cel_bench: how long selectors take, how often they allocate memory, how long compiling takes, and what the same
// predicate costs when handwritten in C++.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/dra-conformance/cel_devices.h"
#include "pkg/api/quantity.h"
#include "pkg/cel/cel.h"
#include "test/support/conformance_data.h"

namespace {

std::atomic<uint64_t> heap_allocations{0};

void* counted(std::size_t size) {
  heap_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(size);
}
void* operator new[](std::size_t size) {
  return counted(size);
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete[](void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  std::free(p);
}

namespace dra::bench {

namespace {

using Json = nlohmann::json;

constexpr char kIssueSelector[] = R"(device.driver == "x" && device.attributes["x"].model == "y" && )"
                                  R"(device.capacity["x"].memory.compareTo(quantity("40Gi")) >= 0)";

struct Measurement {
  std::string name;
  double nanos = 0;        // median of one evaluation, warm
  double allocations = 0;  // of one evaluation
  double compile_micros = 0;
  std::string outcome;
};

// Keeps the compiler from removing the computation of `value`.
void keep(bool value) {
  asm volatile("" : : "r"(value) : "memory");
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Median time of one call, from `samples` batches.
double time_of(int samples, int batch, const std::function<void()>& call) {
  for (int i = 0; i < batch; ++i) call();
  std::vector<double> times;
  for (int s = 0; s < samples; ++s) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < batch; ++i) call();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    times.push_back(spent.count() / batch);
  }
  return median(std::move(times));
}

Measurement measure(const std::string& expression, const cel::DeviceInput& device) {
  static const cel::Environment env;
  Measurement m;
  m.name = expression;
  const cel::CompileResult compiled = cel::compile(expression, env);
  m.compile_micros = time_of(51, 4, [&] { keep(cel::compile(expression, env).ok()); }) / 1000;
  if (!compiled.ok()) {
    m.outcome = "does not compile: " + compiled.error->message;
    return m;
  }
  const cel::Program& program = *compiled.program;
  const cel::EvalResult result = program.evaluate(device);
  m.outcome = !result.ok() ? "error: " + result.message : result.value ? "true" : "false";
  m.nanos = time_of(201, 1000, [&] { keep(program.evaluate(device).value); });
  constexpr int kCounted = 1000;
  const uint64_t before = heap_allocations.load();
  for (int i = 0; i < kCounted; ++i) keep(program.evaluate(device).value);
  m.allocations = static_cast<double>(heap_allocations.load() - before) / kCounted;
  return m;
}

cel::DeviceInput issue_device() {
  cel::DeviceInputBuilder builder("x");
  builder.add_string("model", "y").add_string("uuid", "GPU-0").add_int("index", 3).add_bool("healthy", true);
  builder.add_version("driverVersion", "550.54.15").add_string("numa.example.com/node", "0");
  builder.add_capacity_text("memory", "80Gi").add_capacity_text("cores", "108");
  return builder.build();
}

// The handwritten equivalent of the selector, on the same device.
Measurement measure_by_hand(const cel::DeviceInput& device) {
  const api::Quantity wanted = *api::Quantity::parse("40Gi");
  const auto predicate = [&] {
    if (device.driver() != "x") return false;
    const cel::Value* model = device.attribute("x", "model");
    if (model == nullptr || model->kind != cel::Kind::kString || model->str() != "y") return false;
    const cel::Value* memory = device.capacity("x", "memory");
    return memory != nullptr && memory->quantity->compare(wanted) >= 0;
  };
  Measurement m;
  m.name = "the issue's selector, by hand";
  m.outcome = predicate() ? "true" : "false";
  m.nanos = time_of(201, 1000, [&] { keep(predicate()); });
  return m;
}

// The first `count` selectors of the group "typical" that compile and evaluate to a value.
std::vector<Measurement> measure_typical(const std::string& path, size_t count) {
  std::vector<Measurement> all;
  std::ifstream in(path);
  if (!in) return all;
  const Json file = Json::parse(in, nullptr, false);
  if (file.is_discarded() || !file.contains("vectors")) return all;
  for (const Json& vector : file["vectors"]) {
    if (vector["group"] != "typical" || !vector["v136"].contains("result")) continue;
    const auto device = conformance::make_device(file["devices"][vector["device"].get<std::string>()]);
    all.push_back(measure(vector["expr"], device));
    if (all.size() == count) break;
  }
  return all;
}

Json to_json(const Measurement& m) {
  return {{"expression", m.name},
          {"nanos", m.nanos},
          {"allocations", m.allocations},
          {"compileMicros", m.compile_micros},
          {"outcome", m.outcome}};
}

void print(const Measurement& m) {
  std::printf("%9.1f ns  %5.2f allocs  %8.1f us compile  %-6s %s\n", m.nanos, m.allocations, m.compile_micros,
              m.outcome.substr(0, 40).c_str(), m.name.c_str());
}

int run(int argc, char** argv) {
  CLI::App app("Measures the selector language");
  bool json = false;
  std::string vectors = test::conformance_data().file("cel_dra.json");
  std::vector<std::string> expressions;
  app.add_flag("--json", json, "print one JSON object");
  app.add_option("--vectors", vectors, "cel_dra.json, for the typical selectors");
  app.add_option("--expression", expressions, "measure these on the issue's device as well");
  CLI11_PARSE(app, argc, argv);

  const cel::DeviceInput device = issue_device();
  std::vector<Measurement> all = {measure(kIssueSelector, device), measure_by_hand(device)};
  for (const std::string& expression : expressions) all.push_back(measure(expression, device));
  const std::vector<Measurement> typical = measure_typical(vectors, 20);
  if (json) {
    Json out = {{"issue", to_json(all[0])}, {"byHand", to_json(all[1])}, {"typical", Json::array()}};
    for (size_t i = 2; i < all.size(); ++i) out["expressions"].push_back(to_json(all[i]));
    for (const Measurement& m : typical) out["typical"].push_back(to_json(m));
    std::printf("%s\n", out.dump(2).c_str());
    return 0;
  }
  for (const Measurement& m : all) print(m);
  if (typical.empty()) {
    std::printf("no typical selectors: %s is absent\n", vectors.c_str());
    return 0;
  }
  std::vector<double> medians;
  for (const Measurement& m : typical) {
    print(m);
    medians.push_back(m.nanos);
  }
  std::printf("%9.1f ns  median of %zu typical selectors\n", median(medians), medians.size());
  return 0;
}

}  // namespace

}  // namespace dra::bench

int main(int argc, char** argv) {
  try {
    return dra::bench::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cel_bench: %s\n", e.what());
    return 1;
  }
}
