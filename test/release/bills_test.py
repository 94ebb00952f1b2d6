#!/usr/bin/env python3
"""The bills of materials of a release, judged by others: CycloneDX by its own library (npm, pinned), SPDX by its published schema where SPDX_SCHEMA names the
file (spdx-schema of version 2.3, which no package of Debian or npm carries).

Usage: bills_test.py RELEASE
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

PACKAGES = ("@cyclonedx/cyclonedx-library@10.3.0", "ajv@8.17.1", "ajv-formats@3.0.1", "ajv-formats-draft2019@1.6.1")
PROGRAM = """
import * as CDX from '@cyclonedx/cyclonedx-library';
import {readFileSync} from 'node:fs';
let wrong = 0;
for (const file of process.argv.slice(2)) {
  const found = await new CDX.Validation.JsonStrictValidator('1.6').validate(readFileSync(file, 'utf8'));
  if (found !== null) { console.error(file, JSON.stringify(found).slice(0, 2000)); wrong += 1; }
}
process.exit(wrong > 0 ? 1 : 0);
"""


def check_cyclonedx(bills):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as out:
            out.write('{"type": "module"}')
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *PACKAGES], cwd=folder, check=True, timeout=300)
        program = os.path.join(folder, "judge.mjs")
        with open(program, "w", encoding="utf-8") as out:
            out.write(PROGRAM)
        subprocess.run(["node", program, *bills], cwd=folder, check=True, timeout=120)
        # The judge can say no.
        with open(bills[0], encoding="utf-8") as file:
            spoilt = json.load(file)
        spoilt["components"][0]["type"] = "nothing"
        path = os.path.join(folder, "spoilt.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(spoilt, out)
        done = subprocess.run(["node", program, path], cwd=folder, check=False, timeout=120, capture_output=True)
        assert done.returncode == 1, "a bill with an unknown type passes"


def check_spdx(bills, schema):
    import jsonschema  # Debian's python3-jsonschema
    with open(schema, encoding="utf-8") as file:
        judge = jsonschema.Draft201909Validator(json.load(file))
    for path in bills:
        with open(path, encoding="utf-8") as file:
            problems = [f"{list(problem.path)}: {problem.message[:200]}" for problem in judge.iter_errors(json.load(file))]
        assert not problems, (path, problems[:5])


def main():
    folder = os.path.abspath(sys.argv[1])
    bills = sorted(glob.glob(os.path.join(folder, "*.cdx.json")))
    assert bills, f"{folder} has no bills"
    check_cyclonedx(bills)
    schema = os.environ.get("SPDX_SCHEMA")
    if schema:
        check_spdx(sorted(glob.glob(os.path.join(folder, "*.spdx.json"))), schema)
    print(f"{len(bills)} CycloneDX bills are valid; SPDX: {'valid, too' if schema else 'not judged, SPDX_SCHEMA names no file'}\n1 passed, 0 failed")


if __name__ == "__main__":
    main()
