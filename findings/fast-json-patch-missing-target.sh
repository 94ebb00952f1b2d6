#!/usr/bin/env bash
# fast-json-patch applies a "remove" or "replace" of a path that does not exist (the second one adds it), unless validation is asked for. RFC 6902 and
# kube-apiserver refuse such a patch, so a patch that was tried with it first can fail on a server: our gate is removed by such a patch.
. "$(dirname "$0")/common.sh"
guess 'the target location must exist: removing or replacing what is not there raises'
npm_packages fast-json-patch@3.1.1
cat > run.js <<'JS'
import patches from 'fast-json-patch';
const pod = {spec: {schedulingGates: [{name: 'example.com/gate'}]}};
for (const [what, patch] of [['remove', [{op: 'remove', path: '/spec/schedulingGates/3'}]], ['remove', [{op: 'remove', path: '/spec/nodeName'}]],
                             ['replace', [{op: 'replace', path: '/spec/nodeName', value: 'a'}]]])
  for (const validate of [false, true]) {
    let result;
    try { result = JSON.stringify(patches.applyPatch(structuredClone(pod), patch, validate).newDocument); } catch (error) { result = error.name; }
    console.log(`${what} ${patch[0].path}${validate ? ' (validated)' : ''} -> ${result}`);
  }
JS
node run.js | seen 'targets that are not there' 'remove /spec/schedulingGates/3 -> {"spec":{"schedulingGates":[{"name":"example.com/gate"}]}}
remove /spec/schedulingGates/3 (validated) -> OPERATION_PATH_UNRESOLVABLE
remove /spec/nodeName -> {"spec":{"schedulingGates":[{"name":"example.com/gate"}]}}
remove /spec/nodeName (validated) -> OPERATION_PATH_UNRESOLVABLE
replace /spec/nodeName -> {"spec":{"schedulingGates":[{"name":"example.com/gate"}],"nodeName":"a"}}
replace /spec/nodeName (validated) -> OPERATION_PATH_UNRESOLVABLE'
