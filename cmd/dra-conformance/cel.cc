// dra-conformance cel: the selector language.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cmd/command.h"
#include "cmd/dra-conformance/cel_run.h"
#include "cmd/dra-conformance/lines.h"
#include "cmd/flag_values.h"

namespace dra::conformance {

namespace {

using Json = nlohmann::json;

bool read_json_file(const std::string& path, Json& out) {
  std::ifstream file(locate(path));
  if (!file) {
    cannot_read("cel", path);
    return false;
  }
  out = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!out.is_discarded()) return true;
  std::fprintf(stderr, "dra-conformance cel: %s is not JSON\n", path.c_str());
  return false;
}

int write_answers(CelSuite& suite, const std::string& path) {
  std::ofstream file(path);
  for (size_t i = 0; i < suite.size(); ++i)
    file << suite.answer(i).dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  file.close();
  return file ? 0 : cannot_write("cel", path);
}

int judge_all(CelSuite& suite, const CelOptions& options) {
  size_t passed = 0;
  size_t failed = 0;
  size_t allowed = 0;
  for (size_t i = 0; i < suite.size(); ++i) {
    const Judgement verdict = suite.judge(i);
    const std::string id = suite.id(i);
    const auto deviation = options.deviations.find(id.substr(0, id.find(' ')));
    if (verdict.passed()) {
      ++passed;
    } else if (deviation != options.deviations.end()) {
      ++allowed;
      std::printf("deviates %s: %s\n", id.c_str(), deviation->second.c_str());
    } else {
      ++failed;
      std::printf("FAILED %s: %s\n", id.c_str(), verdict.why().c_str());
    }
  }
  std::printf("%zu passed, %zu failed", passed, failed);
  if (allowed > 0) std::printf(" (%zu more deviate on purpose)", allowed);
  std::printf("\n");
  return failed == 0 ? 0 : 1;
}

int run_cel(const std::vector<std::string>& arguments) {
  CLI::App app("Runs cel_dra.json or cel_spec.json through the selector language", "dra-conformance cel");
  std::string in;
  std::string out;
  std::string release = "1.36";
  std::string deviations = "docs/cel-deviations.json";
  CelOptions options;
  app.add_option("--in", in, "the file of cases")->required();
  app.add_option("--out", out, "write one JSON line per case here; without it the cases are judged");
  app.add_option("--env", release, "the Kubernetes release")->check(cmd::one_of({"1.36", "1.37"}));
  app.add_flag("--list-attributes", options.environment.list_attributes, "feature gate DRAListTypeAttributes");
  app.add_flag("--new-expressions", options.environment.new_expressions, "as for created and changed objects");
  app.add_flag("--messages", options.messages, "also compare error texts");
  app.add_option("--deviations", deviations, "file of ids that may differ on purpose");
  if (const auto code = cmd::parse_or_exit(app, arguments)) return *code;
  if (release == "1.37") options.environment.release = cel::Release::k137;

  Json file;
  Json allowed;
  if (!read_json_file(in, file)) return 2;
  if (std::ifstream(deviations).good() && read_json_file(deviations, allowed))
    options.deviations = allowed.get<std::map<std::string, std::string>>();
  const bool dra = file.contains("vectors");
  if (!dra && !file.contains("tests")) {
    std::fprintf(stderr, "dra-conformance cel: %s holds neither \"vectors\" nor \"tests\"\n", in.c_str());
    return 2;
  }
  const std::unique_ptr<CelSuite> suite = dra ? make_dra_suite(file, options) : make_spec_suite(file, options);
  return out.empty() ? judge_all(*suite, options) : write_answers(*suite, out);
}

const cmd::RegisterCommand kCelCommand("cel", "device selectors: cel_dra.json, cel_spec.json", &run_cel);

}  // namespace

}  // namespace dra::conformance
