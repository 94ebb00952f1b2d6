// Verbs about files: fits, snapshot.
#include <algorithm>
#include <charconv>

#include "cmd/kubectl-dra/verb.h"
#include "pkg/inspect/source/files.h"
#include "pkg/inspect/source/snapshot.h"
#include "pkg/inspect/verbs/fits.h"

namespace dra::kubectl {
namespace {

Result<uint32_t> count_of(const std::string& text, const char* flag, uint32_t most) {
  if (text.empty()) return 0u;
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count == 0 || count > most)
    return fail(Code::kInvalidArgument,
                std::string(flag) + " " + quote(text) + " is not a number from 1 to " + std::to_string(most));
  return count;
}

Result<inspect::Answer> run_fits(Call& call) {
  if (call.value("filename").empty()) return fail(Code::kInvalidArgument, "fits needs -f FILE (- is standard input)");
  inspect::FitsOptions options;
  auto state = call.state_options();
  if (!state) return fail(state.error());
  options.state = std::move(*state);
  options.on_empty = call.switches["on-empty"];
  auto copies = count_of(call.value("count"), "--count", inspect::kMaxCopies);
  if (!copies) return fail(copies.error());
  options.copies = *copies;
  const auto text = call.document ? Result<std::string>(*call.document)
                                  : inspect::read_file(call.value("filename"), inspect::kMaxManifest);
  if (!text) return fail(text.error());
  // Parsed before the cluster is read, so that a fault in the file is reported at once.
  const auto early = inspect::read_manifest(*text, "default");
  if (!early) return fail(early.error().wrap(call.value("filename")));
  // Whom a promise binds is a question of priorities.
  call.common.asks_evictions =
      std::any_of(early->workloads.begin(), early->workloads.end(),
                  [](const inspect::Workload& one) { return !one.pod.priority_class_name.empty(); });
  const auto loaded = call.load();
  if (!loaded) return fail(loaded.error());
  const inspect::Objects& objects = **loaded;
  auto manifest = inspect::read_manifest(*text, call.ns());
  if (!manifest) return fail(manifest.error().wrap(call.value("filename")));
  auto found = inspect::fits(objects, *manifest, options);
  if (!found) return fail(found.error());
  return inspect::to_answer(*found, *manifest, objects, options.on_empty);
}

inspect::Redaction redaction_of(const std::string& value) {
  if (value.empty()) return inspect::Redaction::kNone;
  return value == "strict" ? inspect::Redaction::kStrict : inspect::Redaction::kNames;
}

Result<inspect::Answer> run_snapshot(Call& call) {
  if (!call.common.from.empty())
    return fail(Code::kInvalidArgument, "snapshot reads a server; --from names one that was taken");
  call.common.without_devices = call.common.asks_evictions = true;
  inspect::SnapshotWriter writer(redaction_of(call.value("redact")));
  const auto loaded =
      call.load([&](std::string_view plural, std::string_view page) { return writer.add(plural, page); });
  if (!loaded) return fail(loaded.error());
  const inspect::Objects& objects = **loaded;
  const std::string& path = call.words[0];
  if (auto written = writer.write(objects, path); !written) return fail(written.error());
  inspect::Answer answer{"DRASnapshot"};
  answer.say({"Wrote",
              "wrote " + path + ": " + inspect::counted(objects.nodes.size(), "node") + ", " +
                  inspect::counted(objects.slices.size(), "slice") + ", " +
                  inspect::counted(objects.claims.size(), "claim") + ", " +
                  inspect::counted(objects.pods.size(), "pod"),
              {},
              "",
              {{"nodes", objects.nodes.size()},
               {"slices", objects.slices.size()},
               {"claims", objects.claims.size()},
               {"pods", objects.pods.size()}},
              {{"files", {path}}}});
  for (const inspect::Hidden& hidden : objects.hidden) {
    answer.notes.push_back("not visible, so not in it: " + hidden.what + " (" + hidden.why + ")");
    answer.status = inspect::Status::kUnknown;
  }
  return answer;
}

const RegisterVerb kFits(
    {"fits",
     "would the pods and claims of a file fit: now, when empty, or never",
     "  kubectl dra fits -f job.yaml             does it fit, on which node and devices, how many more\n"
     "  kubectl dra fits -f pod.yaml --count 8   eight of them\n"
     "  kubectl dra fits -f claim.yaml --on-empty\n",
     "fits -f FILE",
     {{"-f,--filename", "the manifest; - is standard input", true, {}},
      {"--count", "so many copies of each", true, {}},
      {"--on-empty", "if nothing were allocated and no pod ran", false, {}}},
     0,
     0,
     {},
     &run_fits,
     true,
     true});
const RegisterVerb kSnapshot(
    {"snapshot",
     "write everything that decisions need into one file",
     "  kubectl dra snapshot cluster.dra            then, anywhere: kubectl dra top --from cluster.dra\n"
     "  kubectl dra snapshot cluster.dra --redact   without names, labels, addresses and messages of yours\n"
     "  kubectl dra snapshot cluster.dra --redact=strict   and without those of drivers, classes and attributes\n",
     "snapshot FILE",
     {{"--redact",
       "replace names and labels by numbered ones; =strict: those of drivers and classes, too",
       false,
       {"strict"}}},
     1,
     1,
     {},
     &run_snapshot});

}  // namespace
}  // namespace dra::kubectl
