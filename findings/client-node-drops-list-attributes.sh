#!/usr/bin/env bash
# The JavaScript client's serializer keeps the fields that its generated types have and drops the rest without a word: a ResourceSlice whose devices have
# attributes with lists of values (DRAListTypeAttributes) loses them when it is read, and a PUT of what was read writes the loss.
. "$(dirname "$0")/common.sh"
guess 'fields that the types do not know stay as they are, or reading them raises'
npm_packages @kubernetes/client-node@1.4.0
cat > run.js <<'JS'
import {ObjectSerializer} from '@kubernetes/client-node/dist/gen/models/ObjectSerializer.js';
const slice = {apiVersion: 'resource.k8s.io/v1', kind: 'ResourceSlice', metadata: {name: 'a'}, spec: {
  driver: 'nic.example.com', nodeName: 'a', pool: {name: 'a', generation: 1, resourceSliceCount: 1},
  devices: [{name: 'nic-0', attributes: {rail: {string: 'r0'}, rails: {strings: ['r0', 'r1']}}}]}};
const read = ObjectSerializer.deserialize(slice, 'V1ResourceSlice');
console.log(JSON.stringify(ObjectSerializer.serialize(read, 'V1ResourceSlice').spec.devices));
JS
node run.js | seen 'a slice that was read and written' '[{"attributes":{"rail":{"string":"r0"},"rails":{}},"name":"nic-0"}]'
