#!/usr/bin/env python3
"""The bills of materials of a release, judged by others: CycloneDX by its own library, SPDX by ajv and its published schema where SPDX_SCHEMA names the file
(spdx-schema of version 2.3, which no package of Debian or npm carries). The libraries come from npm, pinned.

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
SPDX = """
import Ajv from 'ajv';
import Ajv2019 from 'ajv/dist/2019.js';
import addFormats from 'ajv-formats';
import {readFileSync} from 'node:fs';
// The schema is of draft 7 in the tag of version 2.3, and of 2019-09 in branches.
const schema = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const judge = new (schema.$schema.includes('draft-07') ? Ajv : Ajv2019).default({strict: false, allErrors: true});
addFormats.default(judge);
const valid = judge.compile(schema);
let wrong = 0;
for (const file of process.argv.slice(3)) {
  if (!valid(JSON.parse(readFileSync(file, 'utf8')))) { console.error(file, JSON.stringify(valid.errors).slice(0, 2000)); wrong += 1; }
}
process.exit(wrong > 0 ? 1 : 0);
"""


def spoil(path, change, folder):
    """A copy of a bill with a change, which a judge must refuse."""
    with open(path, encoding="utf-8") as file:
        bill = json.load(file)
    change(bill)
    spoilt = os.path.join(folder, "spoilt.json")
    with open(spoilt, "w", encoding="utf-8") as out:
        json.dump(bill, out)
    return spoilt


def judge(folder, name, text, arguments, bills, change):
    """Runs a program of node's on all bills, and on a spoilt one."""
    program = os.path.join(folder, name)
    with open(program, "w", encoding="utf-8") as out:
        out.write(text)
    subprocess.run(["node", program, *arguments, *bills], cwd=folder, check=True, timeout=120)
    done = subprocess.run(["node", program, *arguments, spoil(bills[0], change, folder)], cwd=folder, check=False, timeout=120, capture_output=True)
    assert done.returncode == 1, f"{name} passes a bill that is wrong"


def check(bills, schema):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as out:
            out.write('{"type": "module"}')
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *PACKAGES], cwd=folder, check=True, timeout=300)
        judge(folder, "cyclonedx.mjs", PROGRAM, [], bills, lambda bill: bill["components"][0].update(type="nothing"))
        if schema:
            spdx = [path.replace(".cdx.json", ".spdx.json") for path in bills]
            judge(folder, "spdx.mjs", SPDX, [schema], spdx, lambda bill: bill["packages"][0].pop("SPDXID"))


def main():
    folder = os.path.abspath(sys.argv[1])
    bills = sorted(glob.glob(os.path.join(folder, "*.cdx.json")))
    assert bills, f"{folder} has no bills"
    schema = os.environ.get("SPDX_SCHEMA")
    check(bills, schema and os.path.abspath(schema))
    print(f"{len(bills)} CycloneDX bills are valid; SPDX: {'valid, too' if schema else 'not judged, SPDX_SCHEMA names no file'}\n1 passed, 0 failed")


if __name__ == "__main__":
    main()
