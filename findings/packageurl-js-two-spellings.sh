#!/usr/bin/env bash
# packageurl-js writes "+" of a Debian version as it is since 1.2, as %2B before, and in names as %2B always: the same package has two purls in two bills of
# materials, and a join by text loses it.
. "$(dirname "$0")/common.sh"
guess 'there is one canonical text of a purl, in which "+" is %2B in names and versions alike'
for version in 1.0.0 2.0.1; do
  npm_packages packageurl-js@$version
  cat > run.js <<'JS'
import library from 'packageurl-js';
for (const [name, version] of [['libcurl4', '7.88.1-10+deb12u8'], ['libstdc++6', '12.2.0-14']]) console.log(new library.PackageURL('deb', 'debian', name, version).toString());
JS
  node run.js > output.$version
done
cat output.1.0.0 output.2.0.1 | seen 'purls of 1.0.0, then of 2.0.1' 'pkg:deb/debian/libcurl4@7.88.1-10%2Bdeb12u8
pkg:deb/debian/libstdc%2B%2B6@12.2.0-14
pkg:deb/debian/libcurl4@7.88.1-10+deb12u8
pkg:deb/debian/libstdc%2B%2B6@12.2.0-14'
