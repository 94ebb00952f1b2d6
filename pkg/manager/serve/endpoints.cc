#include "pkg/manager/serve/endpoints.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/base/strings.h"

namespace dra::manager {

namespace {

http::Response text(int status, std::string body, std::string type = "text/plain; charset=utf-8") {
  http::Response response;
  response.status = status;
  response.headers.add("Content-Type", std::move(type));
  response.headers.add("Cache-Control", "no-cache, private");
  response.headers.add("X-Content-Type-Options", "nosniff");
  response.body = std::move(body);
  return response;
}

struct Target {
  std::string path;
  bool verbose = false;
  std::set<std::string> excluded;
};

Target parse_target(const std::string& target) {
  Target parsed;
  const size_t mark = target.find('?');
  parsed.path = target.substr(0, mark);
  if (mark == std::string::npos) return parsed;
  for (const std::string& pair : split(target.substr(mark + 1), '&')) {
    const size_t equals = pair.find('=');
    const std::string name = pair.substr(0, equals);
    if (name == "verbose") parsed.verbose = true;
    if (name == "exclude" && equals != std::string::npos) parsed.excluded.insert(pair.substr(equals + 1));
  }
  return parsed;
}

// In the wording of the Kubernetes components.
http::Response health(const std::string& name, const Target& target, std::vector<HealthCheck> checks,
                      Audience audience) {
  std::string lines;
  bool ok = true;
  for (const HealthCheck& check : checks) {
    if (target.excluded.contains(check.name)) {
      lines += "[+]" + check.name + " excluded: ok\n";
    } else if (check.ok) {
      lines += "[+]" + check.name + " ok" + (check.note.empty() ? "" : ": " + check.note) + "\n";
    } else {
      ok = false;
      const std::string why = check.message.empty() ? "not yet" : check.message;
      lines +=
          "[-]" + check.name + " failed: " + (audience == Audience::kAnybody ? "see the log of this pod" : why) + "\n";
    }
  }
  if (!ok) return text(500, lines + name + " check failed\n");
  return text(200, target.verbose ? lines + name + " check passed\n" : "ok");
}

http::Response health_path(const std::string& name, const Target& target, const std::vector<HealthCheck>& checks,
                           Audience audience) {
  const std::string root = "/" + name;
  if (target.path == root || target.path == root + "/") return health(name, target, checks, audience);
  const std::string wanted = target.path.substr(root.size() + 1);
  for (const HealthCheck& check : checks)
    if (check.name == wanted) return health(name, target, {check}, audience);
  return text(404, "404 page not found\n");
}

bool is_under(const std::string& path, std::string_view root) {
  return path == root || path.rfind(std::string(root) + "/", 0) == 0;
}

}  // namespace

http::Response answer(const EndpointSources& sources, const http::Request& request, Audience audience) {
  if (request.method != "GET" && request.method != "HEAD") {
    http::Response refused = text(405, "only GET and HEAD are served here\n");
    refused.headers.add("Allow", "GET, HEAD");
    return refused;
  }
  const Target target = parse_target(request.target);
  if (is_under(target.path, "/healthz")) return health_path("healthz", target, sources.live(), audience);
  if (is_under(target.path, "/livez")) return health_path("livez", target, sources.live(), audience);
  if (is_under(target.path, "/readyz")) return health_path("readyz", target, sources.ready(), audience);
  if (target.path == "/metrics")
    return text(200, sources.registry->refreshed_text(), std::string(metrics::Registry::content_type()));
  if (target.path == "/configz") return text(200, sources.config_json(), "application/json");
  if (target.path == "/version")
    return text(200, nlohmann::json{{"version", sources.version}}.dump(), "application/json");
  if (target.path == "/") return text(200, "/configz\n/healthz\n/livez\n/metrics\n/readyz\n/version\n");
  return text(404, "404 page not found\n");
}

}  // namespace dra::manager
