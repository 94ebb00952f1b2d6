// The form of an answer: the Accept header against what this server can write (JSON and YAML: whole objects, metadata
// only, tables; protobuf: all but tables). CBOR is not written; a client that names a second choice gets that.
#pragma once

#include <string>
#include <string_view>

#include "pkg/apiserver/model/status.h"

namespace dra::apiserver {

enum class OutputShape { kObject, kTable, kPartialObjectMetadata };

struct OutputForm {
  OutputShape shape = OutputShape::kObject;
  std::string shape_version = "v1";  // of meta.k8s.io, for tables and partial objects
  bool partial_list = false;         // PartialObjectMetadataList was requested
  bool yaml = false;
  bool protobuf = false;
};

// `watchable`: the route also serves watches, which changes the 406 text.
StatusOr<OutputForm> negotiate_output(std::string_view accept, bool watchable);

// The media type of a Content-Type header without parameters, in lower case.
std::string media_type(std::string_view content_type);

// True if discovery is to be answered in aggregated form.
bool wants_aggregated_discovery(std::string_view accept);

}  // namespace dra::apiserver
