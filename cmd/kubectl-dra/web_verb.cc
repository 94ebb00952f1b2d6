// web: the fleet as a page in the browser, from a loopback port or as one file.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "client/transport/curl_transport.h"
#include "cmd/kubectl-dra/verb.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/source/archive.h"
#include "pkg/inspect/source/files.h"
#include "pkg/inspect/source/server_source.h"
#include "pkg/inspect/source/snapshot.h"
#include "pkg/log/log.h"
#include "pkg/reactor/asio_reactor.h"
#include "pkg/web/cluster_watch.h"
#include "pkg/web/gate.h"
#include "pkg/web/page_server.h"
#include "pkg/web/report.h"

extern char** environ;

namespace dra::kubectl {
namespace {

using nlohmann::json;

constexpr size_t kMaxReportAnswers = 200;  // pods and claims whose sentences a report has
constexpr Duration kFileLives = std::chrono::seconds(60);

std::string as_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Events of one object, newest last.
Result<std::string> history_of(Call& call, const web::Question& question) {
  if (question.words.size() != 2)
    return fail(Code::kInvalidArgument, "history needs the kind and the name of an object");
  json found{{"events", json::array()}};
  if (!call.common.from.empty()) {
    found["note"] = "a snapshot has no events";
    return as_text(found);
  }
  const auto answer = call.request([&](client::RestClient& client, client::RestClient::Done done) {
    const client::Resource events{"", "v1", "events", "Event", true};
    return client.list(
        events, question.ns,
        {{"limit", "200"},
         {"fieldSelector", "involvedObject.kind=" + question.words[0] + ",involvedObject.name=" + question.words[1]}},
        std::move(done));
  });
  if (!answer) return fail(answer.error());
  const json list = json::parse(*answer, nullptr, false);
  if (!list.is_object() || !list.contains("items") || !list["items"].is_array()) return as_text(found);
  for (const json& event : list["items"]) {
    json kept = json::object();
    for (const char* key :
         {"type", "reason", "message", "count", "firstTimestamp", "lastTimestamp", "eventTime", "reportingComponent"})
      if (event.is_object() && event.contains(key)) kept[key] = event[key];
    found["events"].push_back(std::move(kept));
  }
  return as_text(found);
}

// Answers by the verbs themselves.
Result<std::string> answer_by_verb(const Call& asked, const web::Question& question,
                                   std::shared_ptr<const inspect::Objects> objects) {
  static const std::vector<std::string> kAnswering{"explain", "who", "whatif", "fits"};
  Call call = asked;
  if (!question.ns.empty()) call.common.ns = question.ns;
  if (question.verb == "history") return history_of(call, question);
  const auto& all = verbs();
  const auto verb = std::find_if(all.begin(), all.end(), [&](const Verb& one) { return one.name == question.verb; });
  if (verb == all.end() || std::find(kAnswering.begin(), kAnswering.end(), question.verb) == kAnswering.end())
    return fail(Code::kInvalidArgument,
                "the page asks explain, who, whatif, fits and history; " + quote(question.verb) + " is none of them");
  if (question.words.size() < verb->min_words || question.words.size() > verb->max_words)
    return fail(Code::kInvalidArgument, "usage: kubectl dra " + verb->usage);
  call.words = question.words;
  call.values.clear();
  call.switches.clear();
  call.common.output = "json";
  call.use(std::move(objects));
  if (question.verb == "fits") {
    call.values["filename"] = "the text";
    call.document = question.document;
  }
  auto answer = verb->run(call);
  if (!answer) return fail(answer.error());
  return inspect::render(*answer, {inspect::Format::kJson});
}

Result<inspect::Objects> objects_of(inspect::Objects objects, const std::vector<web::Feed::Named>& lines) {
  for (const auto& [name, line] : lines)
    if (auto added = inspect::add_page(objects, name, web::page_in(*line)); !added) return fail(added.error());
  return objects;
}

// ---- the browser

// A folder and a file that only the user can read: the browser's command line, which others see, has its name alone.
class KeyFile {
 public:
  explicit KeyFile(const std::string& address) {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    std::error_code error;
    std::string folder =
        (runtime != nullptr ? std::filesystem::path(runtime) : std::filesystem::temp_directory_path(error)) /
        "kubectl-dra-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) return;
    folder_ = folder;
    path_ = folder_ + "/open.html";
    const std::string text =
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"
        "<meta http-equiv=\"refresh\" content=\"0;url=" +
        address + "\"><title>kubectl dra web</title>";
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    written_ = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (file >= 0) ::close(file);
  }
  ~KeyFile() { remove(); }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  void remove() {
    if (!path_.empty()) ::unlink(path_.c_str());
    if (!folder_.empty()) ::rmdir(folder_.c_str());
    path_.clear();
    folder_.clear();
  }
  // False: no program opens pages here.
  bool open() const {
    if (!written_) return false;
    for (const char* program : {"xdg-open", "open", "wslview"}) {
      posix_spawn_file_actions_t actions;
      posix_spawn_file_actions_init(&actions);
      for (const int stream : {0, 1, 2})
        posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", stream == 0 ? O_RDONLY : O_WRONLY, 0);
      std::string name = program, path = path_;
      char* arguments[] = {name.data(), path.data(), nullptr};
      pid_t child = 0;
      const int failed = ::posix_spawnp(&child, program, &actions, nullptr, arguments, environ);
      posix_spawn_file_actions_destroy(&actions);
      if (failed == 0) return true;
    }
    return false;
  }

 private:
  std::string folder_, path_;
  bool written_ = false;
};

// ---- the server

// Serves until a signal, or until nobody has looked for a while.
class Serving {
 public:
  explicit Serving(Call& call) : call_(call), reactor_(clock_), random_(entropy_seed()) {}

  Result<inspect::Answer> run() {
    log::configure({.sink = [](std::string_view) {}});
    if (auto source = call_.common.from.empty() ? watch_cluster() : read_file(); !source) return fail(source.error());
    web::PageOptions options;
    if (auto port = port_of(call_.value("port")); port)
      options.port = *port;
    else
      return fail(port.error());
    options.ticket = web::random_key();
    options.on_ticket_used = [this](const std::string& next) { on_ticket_used(next); };
    options.on_idle = [this] {
      why_ended_ = "nobody looked for 30 minutes";
      reactor_.stop();
    };
    auto server = web::PageServer::start(reactor_, options, feed_,
                                         [this](const web::Question& question) { return job_for(question); });
    if (!server) return fail(server.error());
    const Handle signals = reactor_.on_signals({SIGINT, SIGTERM, SIGHUP}, [this](int) { reactor_.stop(); });
    address_ = "http://127.0.0.1:" + std::to_string((*server)->port()) + "/";
    if (!say_address(options.ticket)) return fail(Code::kUnavailable, "standard output is closed");
    const Handle forget = reactor_.after(kFileLives, [this] { file_.reset(); });
    reactor_.run();
    inspect::Answer ended{"DRAWeb"};
    ended.lines.push_back(why_ended_.empty() ? "ended" : "ended: " + why_ended_);
    return ended;
  }

 private:
  static Result<uint16_t> port_of(const std::string& text) {
    uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (!text.empty() && (error != std::errc() || end != text.data() + text.size()))
      return fail(Code::kInvalidArgument, "--port " + quote(text) + " is not a number from 0 to 65535");
    return port;
  }

  bool say_address(const std::string& ticket) {
    if (!call_.switches["no-open"]) {
      file_ = std::make_unique<KeyFile>(address_ + "#key=" + ticket);
      if (file_->open())
        return print("The page is open in the browser, at " + address_ +
                     "; --no-open prints an address that opens it instead. Ctrl-C ends it.\n");
      file_.reset();
    }
    says_addresses_ = true;
    return print("Open " + address_ + "#key=" + ticket +
                 "\nThis address works once; the next one is printed when it was used. Ctrl-C ends it.\n");
  }
  // A terminal that is gone is no reason to end.
  void on_ticket_used(const std::string& next) {
    file_.reset();
    if (says_addresses_) static_cast<void>(print("Another tab: " + address_ + "#key=" + next + "\n"));
  }

  Result<void> read_file() {
    size_t pages = 0;
    call_.common.without_devices = true;
    const auto loaded = call_.load([&](std::string_view plural, std::string_view page) {
      feed_.put(plural, "page " + std::to_string(++pages),
                std::make_shared<const std::string>(std::string(plural) + "\t" + std::string(page)));
      return Result<void>();
    });
    if (!loaded) return fail(loaded.error());
    json hidden = json::array();
    for (const inspect::Hidden& one : (*loaded)->hidden) hidden.push_back({{"what", one.what}, {"why", one.why}});
    feed_.set_header(as_text({{"format", "kubectl-dra web"},
                              {"live", false},
                              {"taken", format_rfc3339((*loaded)->taken)},
                              {"server", (*loaded)->origin},
                              {"serverVersion", (*loaded)->server_version},
                              {"redacted", (*loaded)->redacted},
                              {"hidden", hidden}}));
    known_.objects = std::make_shared<const inspect::Objects>(**loaded);
    return {};
  }

  // A credential plugin may ask something on the terminal: that is over before anything is served.
  Result<void> watch_cluster() {
    auto config = call_.server_config({&reactor_, nullptr});
    if (!config) return fail(config.error());
    client::CurlOptions curl;
    curl.user_agent = "kubectl-dra";
    transport_ = std::make_unique<client::CurlTransport>(reactor_, *config, curl);
    credentials_ = config->credentials;
    inspect::ServerOptions options;
    options.server = config->server;
    options.kinds = {"none"};  // only what the server says about itself
    auto served = inspect::load_from_server(reactor_, *transport_, options);
    if (!served) return fail(served.error());
    if (const std::string why = inspect::why_no_devices(*served); !why.empty()) return fail(Code::kUnavailable, why);
    watch_ = std::make_unique<web::ClusterWatch>(
        reactor_, *transport_, random_,
        web::WatchOptions{config->server, call_.ns(), call_.common.manager_ns, std::move(*served)}, feed_);
    watch_->start();
    return {};
  }

  // What is known is read anew for an answer if it has changed since the last one.
  web::Job job_for(const web::Question& question) {
    if (!watch_ || question.verb == "history")
      return [this, question, known = watch_ ? nullptr : known_.objects] {
        return answer_by_verb(call_, question, known);
      };
    return [this, question, lines = feed_.all(), version = feed_.version(),
            rest = watch_->without_objects()]() -> Result<std::string> {
      if (!known_.objects || version != known_.version) {
        auto objects = objects_of(rest, lines);
        if (!objects) return fail(objects.error());
        known_ = {std::make_shared<const inspect::Objects>(std::move(*objects)), version};
      }
      return answer_by_verb(call_, question, known_.objects);
    };
  }

  Call& call_;
  SystemClock clock_;
  AsioReactor reactor_;
  SeededRandom random_;
  web::Feed feed_;
  std::string address_;
  bool says_addresses_ = false;
  std::unique_ptr<KeyFile> file_;
  std::unique_ptr<client::CurlTransport> transport_;
  std::shared_ptr<client::CredentialSource> credentials_;
  std::unique_ptr<web::ClusterWatch> watch_;
  // Of the last answer; jobs run one at a time, and they alone change it once the server runs.
  struct Known {
    std::shared_ptr<const inspect::Objects> objects;
    uint64_t version = 0;
  } known_;
  std::string why_ended_;
};

// ---- the report

// The answers about what waits, which a file cannot ask for.
std::string answers_for_report(const Call& call, const std::shared_ptr<const inspect::Objects>& objects) {
  std::string lines;
  const auto add = [&](const std::vector<std::string>& words, const std::string& ns) {
    const auto answer = answer_by_verb(call, {"explain", words, ns, ""}, objects);
    if (!answer) return json();
    json read = json::parse(*answer, nullptr, false);
    lines += "?" + as_text({"explain", ns, words.empty() ? "" : words[0]}) + "\t" + as_text(read) + "\n";
    return read;
  };
  const json all = add({}, "");
  if (!all.is_object() || !all.contains("causes")) return lines;
  size_t asked = 0;
  for (const json& cause : all["causes"])
    for (const auto& [key, word] : {std::pair{"podNames", "pod/"}, {"claimNames", "claim/"}})
      for (const json& name : cause.value(key, json::array())) {
        const std::string text = name.get<std::string>();
        const size_t slash = text.find('/');
        if (slash == std::string::npos || ++asked > kMaxReportAnswers) continue;
        add({word + text.substr(slash + 1)}, text.substr(0, slash));
      }
  return lines;
}

Result<inspect::Answer> write_report(Call& call, const std::string& path) {
  const std::string& how = call.values["redact"];
  inspect::SnapshotWriter writer(how.empty()       ? inspect::Redaction::kNone
                                 : how == "strict" ? inspect::Redaction::kStrict
                                                   : inspect::Redaction::kNames);
  call.common.without_devices = true;
  const auto loaded =
      call.load([&](std::string_view plural, std::string_view page) { return writer.add(plural, page); });
  if (!loaded) return fail(loaded.error());
  const std::string snapshot = writer.bytes(**loaded);
  std::string lines;
  auto objects = inspect::read_snapshot_bytes(snapshot, "report", [&](std::string_view plural, std::string_view page) {
    lines += std::string(plural) + "\t" + std::string(page) + "\n";
    return Result<void>();
  });
  if (!objects) return fail(objects.error());
  objects->origin = how.empty() ? (*loaded)->origin : "";
  json hidden = json::array();
  for (const inspect::Hidden& one : objects->hidden) hidden.push_back({{"what", one.what}, {"why", one.why}});
  const std::string header = as_text({{"format", "kubectl-dra web"},
                                      {"live", false},
                                      {"report", true},
                                      {"taken", format_rfc3339(objects->taken)},
                                      {"server", objects->origin},
                                      {"serverVersion", objects->server_version},
                                      {"redacted", objects->redacted},
                                      {"hidden", hidden}});
  Call asked = call;
  asked.common.from = "report";  // so that no answer asks a server
  const auto known = std::make_shared<const inspect::Objects>(std::move(*objects));
  const std::string html = web::report_html(inspect::gzip(header + "\n" + lines + answers_for_report(asked, known)));
  if (auto written = inspect::write_file(path, html); !written) return fail(written.error());
  inspect::Answer answer{"DRAWeb"};
  answer.lines.push_back("wrote " + path + ": " + inspect::counted(known->nodes.size(), "node") + ", " +
                         inspect::counted(known->slices.size(), "slice") + ", " +
                         inspect::counted(known->claims.size(), "claim") + ", " +
                         inspect::counted(known->pods.size(), "pod"));
  return answer;
}

Result<inspect::Answer> run_web(Call& call) {
  const std::string& as_user = call.value("as");
  if (std::any_of(as_user.begin(), as_user.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    return fail(Code::kInvalidArgument, "--as " + quote(inspect::printable(as_user)) + " is not the name of a user");
  if (!as_user.empty() && !call.common.from.empty())
    return fail(Code::kInvalidArgument, "--from reads a snapshot, and --as is about a server; give one of them");
  call.common.as_user = as_user;
  const std::string& output = call.value("output");
  if (inspect::format_of(output) && !output.empty())
    return fail(Code::kInvalidArgument, "web --output names the file of a report, such as report.html; " +
                                            quote(output) + " is a format, and the page has one alone");
  if (!output.empty()) {
    if (!call.value("port").empty() || call.switches["no-open"])
      return fail(Code::kInvalidArgument, "--output writes a file; --port and --no-open are about a server");
    return write_report(call, output);
  }
  if (!call.value("redact").empty())
    return fail(Code::kInvalidArgument, "--redact is for a report: web --output report.html --redact");
  return Serving(call).run();
}

const RegisterVerb kWeb(
    {"web",
     "the fleet as a page in the browser: who holds what, what is free, what waits and why",
     "  kubectl dra web                            opens the page; it changes with the cluster\n"
     "  kubectl dra web --no-open --port 8001      prints its address, for ssh -L 8001:127.0.0.1:8001\n"
     "  kubectl dra web --from cluster.dra         of a snapshot\n"
     "  kubectl dra web --output report.html       one file to attach to a ticket\n"
     "  kubectl dra web --output report.html --redact\n",
     "web",
     {{"--as", "the user to read as, if you may impersonate", true, {}},
      {"--port", "the port on 127.0.0.1; without it a free one", true, {}},
      {"--no-open", "print the address with its key, and open no browser", false, {}},
      {"--redact",
       "in a report, replace names and labels by numbered ones; =strict: those of drivers and "
       "classes, too",
       false,
       {"strict"}}},
     0,
     0,
     {},
     &run_web,
     true,
     false,
     true});

}  // namespace
}  // namespace dra::kubectl
