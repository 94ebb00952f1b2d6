// MetadataPut: a patch of metadata as a GET and a PUT in protobuf, for objects whose metadata no patch can change.
//
// kube-apiserver re-encodes JSON inside a spec when it applies a patch: it drops blanks between the tokens and escapes
// <, > and &. Then it compares the spec with the stored one, byte for byte, and refuses the patch because the spec is
// immutable (seen on 1.36.2). So a claim whose opaque parameters were written with blanks, as Python's json.dumps does,
// takes no patch of its metadata from anybody. If kube-scheduler allocated it, which copies the parameters byte for
// byte into the allocation, its status takes none either. Bytes in protobuf stay as they are.
//
// A JSON patch cannot add the first annotation of an object whose annotations are not known (RFC 6902, 4.1: the parent
// must exist); the PUT can.
//
// Pure. The preconditions of the patch are checked against the object that was read; its resourceVersion goes back in
// the PUT, so the write is as atomic as the patch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "client/writer/writer.h"
#include "pkg/api/decode/protobuf_metadata.h"

namespace dra::client {

struct MetadataPut {
  std::string uid;
  std::string resource_version;  // empty: the patch is not bound to a version
  api::MetadataEdit edit;
  // Of a patch of the status that replaces reservedFor alone; then `edit` is empty.
  std::optional<std::vector<api::ResourceClaimConsumerReference>> consumers;
};

// Nothing if the write is not a merge patch of annotations and finalizers, or of a status's reservedFor, alone, with a
// uid; or a JSON patch with a uid and a resourceVersion that adds and removes annotations and at most one finalizer, at
// the end or by its index.
std::optional<MetadataPut> metadata_put_of(const WriteRequest& write);

// The server refused a patch because its own re-encoding changed the spec or the allocation, or, for a JSON patch, for
// any reason that makes it invalid: kube-apiserver does not say which operation did not apply.
bool refuses_reencoded(const Error& error, WriteVerb verb);

// The body of the PUT. `object` is what the server has, in protobuf. kConflict if it has another version than the write
// was decided on, kNotFound if the name belongs to another uid, kUnavailable if the answer is about another object.
Result<std::string> put_body(const MetadataPut& put, const ObjectPath& path, std::string_view object);

// The error of a GET or PUT, with the reason why it was not a patch.
Error not_put(const Error& error);

}  // namespace dra::client
