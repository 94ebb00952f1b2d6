// report_html: the page with a cluster in it, as one file that needs neither server nor network. Pure.
#pragma once

#include <string>

namespace dra::web {

// `lines`: those of a snapshot, and "?["VERB", "NAMESPACE", "WORD"]<tab>ANSWER" for answers of verbs, compressed by
// gzip. What they say cannot leave its place: it is in the file as base64, and no script runs but the page's own.
std::string report_html(const std::string& lines);

}  // namespace dra::web
