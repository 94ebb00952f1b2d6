#!/usr/bin/env bash
# protobufjs reads a message with the fields that its schema has and forgets the others: an object that a newer API server sent as protobuf comes back without
# the newer fields when it is written.
. "$(dirname "$0")/common.sh"
guess 'unknown fields are kept from decode to encode, as implementations of protobuf do since 3.5'
npm_packages protobufjs@8.8.1
cat > run.js <<'JS'
import protobuf from 'protobufjs';
const request = fields => protobuf.parse(`syntax = "proto2"; message DeviceRequest { ${fields} }`).root.lookupType('DeviceRequest');
const now = request('optional string name = 1; optional string class = 2; optional int64 count = 3;');
const before = request('optional string name = 1;');
const sent = now.encode(now.create({name: 'gpu', class: 'gpu.example.com', count: 8})).finish();
const back = before.encode(before.decode(sent)).finish();
console.log(JSON.stringify(now.decode(sent)));
console.log(JSON.stringify(now.decode(back)));
JS
node run.js | seen 'sent, and what came back' '{"name":"gpu","class":"gpu.example.com","count":"8"}
{"name":"gpu"}'
