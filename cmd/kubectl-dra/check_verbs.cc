// Verbs that check and simulate: lint, cel, whatif.
#include <charconv>

#include "cmd/kubectl-dra/verb.h"
#include "pkg/inspect/lint/fix.h"
#include "pkg/inspect/lint/lint.h"
#include "pkg/inspect/source/files.h"
#include "pkg/inspect/state/manifest.h"
#include "pkg/inspect/verbs/cel_query.h"
#include "pkg/inspect/verbs/make_room.h"
#include "pkg/inspect/verbs/preempt.h"
#include "pkg/inspect/verbs/whatif.h"

namespace dra::kubectl {
namespace {

Result<inspect::Answer> run_lint(Call& call) {
  const std::string file = call.value("filename");
  if (file.empty()) return fail(Code::kInvalidArgument, "lint needs -f FILE (- is standard input)");
  const auto text = inspect::read_file(file, inspect::kMaxManifest);
  if (!text) return fail(text.error());
  auto options = call.state_options();
  if (!options) return fail(options.error());
  call.common.without_devices = true;
  const inspect::Objects* objects = nullptr;
  if (!call.switches["offline"]) {
    const auto loaded = call.load();
    if (!loaded) return fail(loaded.error());
    objects = *loaded;
  }
  const std::string ns = call.ns();
  if (call.switches["fix"]) {
    auto fixed = inspect::fix_manifest(*text, objects, ns);
    if (!fixed) return fail(fixed.error().wrap(file));
    const auto left = inspect::lint(fixed->text, objects, *options, ns);
    if (!left) return fail(left.error());
    return inspect::fix_answer(std::move(*fixed), *left);
  }
  auto findings = inspect::lint(*text, objects, *options, ns);
  if (!findings) return fail(findings.error());
  return inspect::lint_answer(*findings, file == "-" ? "<stdin>" : file, call.switches["strict"]);
}

Result<inspect::Answer> run_cel(Call& call) {
  if (call.words[0].find_first_not_of(" \t\n") == std::string::npos)
    return fail(
        Code::kInvalidArgument,
        "the expression is empty; write one about a device: kubectl dra cel 'device.driver == \"gpu.example.com\"'");
  auto options = call.state_options();
  if (!options) return fail(options.error());
  const auto objects = call.load();
  if (!objects) return fail(objects.error());
  return inspect::cel_answer(**objects, call.words[0], options->features);
}

Result<uint32_t> number_of(const std::string& text, uint32_t most) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most)
    return fail(Code::kInvalidArgument, quote(text) + " is not a number from 0 to " + std::to_string(most));
  return number;
}

// "delete pod/X", "taint NODE/DEVICE key=value:Effect", "scale deployment/X 5" (or X=5), "add-node like NODE [COUNT]".
Result<inspect::Change> change_of(const std::vector<std::string>& words) {
  auto kind = inspect::change_kind_of(words[0]);
  if (!kind) return fail(kind.error());
  inspect::Change change;
  change.kind = *kind;
  size_t at = 1;
  if (*kind == inspect::Change::Kind::kAddNode && words.size() > 1 && words[1] == "like") ++at;
  if (at >= words.size()) return fail(Code::kInvalidArgument, "whatif " + words[0] + " needs the name of an object");
  change.target = words[at++];
  if (*kind == inspect::Change::Kind::kTaint) {
    if (at >= words.size()) return fail(Code::kInvalidArgument, "whatif taint needs key=value:Effect");
    auto taint = inspect::parse_taint(words[at]);
    if (!taint) return fail(taint.error());
    change.taint = std::move(*taint);
    ++at;
  }
  const bool counts = *kind == inspect::Change::Kind::kScale || *kind == inspect::Change::Kind::kAddNode;
  std::string number = counts && at < words.size() ? words[at++] : "";
  if (const size_t equals = change.target.find('='); counts && equals != std::string::npos) {
    number = change.target.substr(equals + 1);
    change.target.erase(equals);
  }
  // Silently left out, a second node would look as if it had been drained, too.
  if (at < words.size())
    return fail(Code::kInvalidArgument,
                "whatif " + words[0] + " makes one change; " + quote(words[at]) + " is one word too many");
  if (*kind == inspect::Change::Kind::kScale && number.empty())
    return fail(Code::kInvalidArgument, "whatif scale needs a number: scale deployment/X 5");
  if (number.empty()) return change;
  auto count = number_of(number, 1000);
  if (!count) return fail(count.error());
  change.count = *count;
  return change;
}

// The cluster with the templates of the owners whose pods the change creates anew. An owner that cannot be read is done
// without: then the old pod is the model. Snapshots have none.
inspect::Objects with_templates(Call& call, const inspect::Objects& objects, const inspect::Change& change) {
  inspect::Objects known = objects;  // pointers only
  if (!call.common.from.empty()) return known;
  for (const inspect::OwnerToRead& owner : inspect::owners_of_change(objects, change, call.ns())) {
    const inspect::OwnerKind* kind = inspect::owner_kind_of(owner.owner);
    const client::Resource resource{std::string(kind->group), std::string(kind->version), std::string(kind->plural),
                                    std::string(kind->kind), true};
    const auto text = call.request([&](client::RestClient& client, client::RestClient::Done done) {
      return client.get({resource, owner.ns, owner.owner.name, ""}, std::move(done));
    });
    if (text) static_cast<void>(inspect::add_owner(known, owner, *text));
  }
  return known;
}

// "preempt pod/X", "preempt pod X".
Result<inspect::Answer> run_preempt(Call& call) {
  if (call.words.size() < 2 || call.words.size() > 3)
    return fail(Code::kInvalidArgument, "whatif preempt needs one pod that waits: whatif preempt pod/NAME");
  const std::string target = call.words.size() == 3 ? call.words[1] + "/" + call.words[2] : call.words[1];
  call.common.asks_evictions = true;
  const auto state = call.load_state();
  if (!state) return fail(state.error());
  return inspect::whatif_preempt(**state, target, call.ns());
}

Result<inspect::Answer> run_make_room(Call& call) {
  const std::string file = call.value("filename");
  if (file.empty() || call.words.size() > 1)
    return fail(Code::kInvalidArgument, "whatif make-room needs -f FILE (- is standard input), and no other word");
  inspect::RoomOptions options;
  if (const std::string& most = call.value("max-moves"); !most.empty()) {
    auto number = number_of(most, 1000);
    if (!number) return fail(number.error().wrap("--max-moves"));
    options.max_moves = *number;
  }
  auto state = call.state_options();
  if (!state) return fail(state.error());
  options.state = std::move(*state);
  const auto text =
      call.document ? Result<std::string>(*call.document) : inspect::read_file(file, inspect::kMaxManifest);
  if (!text) return fail(text.error());
  if (auto early = inspect::read_manifest(*text, "default"); !early) return fail(early.error().wrap(file));
  call.common.asks_evictions = true;
  const auto objects = call.load();
  if (!objects) return fail(objects.error());
  auto manifest = inspect::read_manifest(*text, call.ns());
  if (!manifest) return fail(manifest.error().wrap(file));
  return inspect::make_room(**objects, *manifest, options);
}

Result<inspect::Answer> run_whatif(Call& call) {
  if (call.words[0] == "preempt" || call.words[0] == "make-room") {
    if (call.switches["alone"])
      return fail(Code::kInvalidArgument, "--alone is for whatif taint NODE/DEVICE; " + call.words[0] + " takes none");
    if (call.words[0] == "make-room") return run_make_room(call);
  }
  if (!call.value("filename").empty() || !call.value("max-moves").empty())
    return fail(Code::kInvalidArgument,
                "-f and --max-moves are for whatif make-room; " + call.words[0] + " takes none");
  if (call.words[0] == "preempt") return run_preempt(call);
  auto change = change_of(call.words);
  if (!change) return fail(change.error());
  change->alone = call.switches["alone"];
  if (change->alone && change->kind != inspect::Change::Kind::kTaint)
    return fail(Code::kInvalidArgument, "--alone is for whatif taint NODE/DEVICE; " + call.words[0] + " takes none");
  auto options = call.state_options();
  if (!options) return fail(options.error());
  const auto objects = call.load();
  if (!objects) return fail(objects.error());
  const std::string ns = call.ns();
  const inspect::Objects known = with_templates(call, **objects, *change);
  auto fates = inspect::whatif(known, *change, *options, ns);
  if (!fates) return fail(fates.error());
  inspect::Answer answer = inspect::whatif_answer(*fates, known);
  if (std::string reach = inspect::taint_reaches(known, *change); !reach.empty())
    answer.say("TaintReaches", std::move(reach));
  return answer;
}

const RegisterVerb kLint(
    {"lint",
     "what is wrong with a file before it is applied",
     "  kubectl dra lint -f claims.yaml             what the server refuses, selectors that match nothing, ...\n"
     "  kubectl dra lint -f claims.yaml --offline   without a cluster: the file alone\n"
     "  kubectl dra lint -f claims.yaml --fix       print it with the commonest mistakes mended\n",
     "lint -f FILE",
     {{"-f,--filename", "the manifest; - is standard input", true, {}},
      {"--offline", "ask no server", false, {}},
      {"--strict", "warnings, too, make the exit status 1", false, {}},
      {"--fix", "print the file with the commonest mistakes mended; what is left goes to standard error", false, {}}},
     0,
     0,
     {},
     &run_lint});
const RegisterVerb kCel(
    {"cel",
     "the devices that a selector matches, and what it costs",
     "  kubectl dra cel 'device.driver == \"gpu.example.com\"'\n"
     "  kubectl dra cel 'device.attributes[\"gpu.example.com\"].productName.startsWith(\"A100\")'\n",
     "cel EXPRESSION",
     {},
     1,
     1,
     {},
     &run_cel,
     true,
     true});
const RegisterVerb kWhatif(
    {"whatif",
     "which pods would move, wait or start after a change; writes nothing",
     "  kubectl dra whatif drain node-a\n"
     "  kubectl dra whatif cordon node-a\n"
     "  kubectl dra whatif delete deployment/web -n web\n"
     "  kubectl dra whatif taint node-a/gpu-3 example.com/broken=ecc:NoExecute\n"
     "  kubectl dra whatif add-node like node-a 2\n"
     "  kubectl dra whatif scale deployment/web 8 -n web\n"
     "  kubectl dra whatif preempt pod/train-0 -n ml     of whom it would take the place, with the least harm\n"
     "  kubectl dra whatif make-room -f job.yaml         who has to move, and where to, so that it fits\n",
     "whatif delete|drain|cordon|taint|add-node|scale OBJECT ... | preempt pod/NAME | make-room -f FILE",
     {{"-f,--filename", "make-room: the manifest; - is standard input", true, {}},
      {"--max-moves", "make-room: no more moves than these", true, {}},
      {"--alone", "taint: not the devices on the same silicon, partitions for instance", false, {}}},
     1,
     4,
     {"delete", "drain", "cordon", "taint", "add-node", "scale", "preempt", "make-room"},
     &run_whatif,
     true,
     true});

}  // namespace
}  // namespace dra::kubectl
