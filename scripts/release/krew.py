"""The manifest by which `kubectl krew` installs kubectl-dra (krew.googlecontainertools.github.com/v1alpha2)."""


def manifest(version, settings, archives):
    """YAML; archives: {architecture: (file name, sha256)}."""
    lines = ["apiVersion: krew.googlecontainertools.github.com/v1alpha2", "kind: Plugin", "metadata:", "  name: dra", "spec:", f"  version: v{version}",
             f"  homepage: {settings['repository']}", "  shortDescription: Says who holds devices, what is free and why pods wait", "  description: |",
             "    Explains why a pod or a group waits for devices of Dynamic Resource Allocation", "    (resource.k8s.io), lists who holds which devices and what is free, says what",
             "    would happen if a node was drained or a pod was created, and checks manifests.", "    It reads the cluster; only `taint` and `untaint` write.", "  platforms:"]
    for architecture, (name, digest) in sorted(archives.items()):
        lines += ["  - selector:", "      matchLabels:", "        os: linux", f"        arch: {architecture}", f"    uri: {settings['downloads']}/v{version}/{name}",
                  f"    sha256: {digest}", "    bin: bin/kubectl-dra", "    files:", '    - from: "*"', "      to: ."]
    return "\n".join(lines) + "\n"
