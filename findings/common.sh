# What the scripts of this folder share: a temporary folder with pinned packages, and the comparison with what was seen.
#   guess TEXT ...        what one would expect, and why; written before the run
#   npm_packages P@V ...  installs packages of npm into the folder
#   debian_packages P=V   unpacks packages of Debian 12 into the folder (nothing is installed); $root is where their files are
#   seen NAME TEXT        compares what a command printed with TEXT; the script fails if it changed
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
root=$folder/root

guess() { printf 'Guess: %s\n' "$*"; }

npm_packages() {
  printf 'Packages (npm): %s\n' "$*"
  echo '{"private": true, "type": "module"}' > package.json
  npm install --silent --no-audit --no-fund --ignore-scripts "$@" > npm.log 2>&1 || { cat npm.log >&2; exit 2; }
}

debian_packages() {
  printf 'Packages (Debian 12): %s\n' "$*"
  mkdir -p "$root"
  for package in "$@"; do
    apt-get download -q "$package" > apt.log 2>&1 || { cat apt.log >&2; exit 2; }
  done
  for archive in ./*.deb; do dpkg-deb -x "$archive" "$root"; done
}

# compile FILE LIBRARIES...: a C++ program against the unpacked packages.
compile() {
  local triple
  triple=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || echo x86_64-linux-gnu)
  g++ -std=c++17 -o program "$1" -isystem "$root/usr/include" -L"$root/usr/lib/$triple" -Wl,-rpath,"$root/usr/lib/$triple" "${@:2}"
}

seen() {
  local name=$1 expected=$2
  cat > output
  printf -- '--- %s\n' "$name"
  sed 's/^/    /' output
  if [ "$(cat output)" != "$expected" ]; then
    printf 'CHANGED: %s; it was:\n%s\n' "$name" "$(printf '%s' "$expected" | sed 's/^/    /')" >&2
    exit 1
  fi
}
