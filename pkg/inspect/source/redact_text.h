// Redaction of texts for people: the manager's log, events, metrics. Pure.
//
// Names that the redactor has learned get their new name. What else looks like a name (with a digit, a dot, a dash or
// an underscore in it), an address, and every word that stands alone as a value ("pod":"x", pod="x") becomes
// "redacted", unless it is a number or one of this project's or of the API's words. A plain word inside a sentence
// stays, unless it is one of `gone`: names of objects that are in no snapshot. So a text is less safe than a snapshot:
// somebody should read it before it is sent away.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "pkg/inspect/source/redact.h"

namespace dra::inspect {

using NamesGone = std::set<std::string, std::less<>>;

std::string redact_text(const Redactor& redactor, std::string_view text, const NamesGone& gone = {});

}  // namespace dra::inspect
