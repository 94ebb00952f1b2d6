"""A small REST client for tests and benchmarks: keep-alive connections, JSON, a pool of threads for many requests. Standard library only."""
import base64
import concurrent.futures
import http.client
import json
import re
import ssl
import threading
import urllib.parse

RESOURCE = "/apis/resource.k8s.io/v1"


class Api:
    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as source:
            text = source.read()
        server = re.search(r"server:\s*\"?(https?://[^\s\"]+)", text).group(1)
        self.url = urllib.parse.urlsplit(server)
        self.token = re.search(r"token:\s*\"?([^\s\"]+)", text).group(1)
        authority = re.search(r"certificate-authority-data:\s*\"?([^\s\"]+)", text)
        self.context = ssl.create_default_context(cadata=base64.b64decode(authority.group(1)).decode()) if authority else None
        self.local = threading.local()

    def connection(self):
        if getattr(self.local, "connection", None) is None:
            self.local.connection = self.new_connection(60)
        return self.local.connection

    def new_connection(self, seconds):
        kind = http.client.HTTPSConnection if self.url.scheme == "https" else http.client.HTTPConnection
        extra = {"context": self.context} if self.context else {}
        return kind(self.url.hostname, self.url.port, timeout=seconds, **extra)

    def request(self, method, path, body=None, content_type="application/json", accept="application/json", parse=True):
        """(status, parsed answer; an empty object if it is not JSON or not to be parsed). Reopens a closed connection once."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": accept}
        data = None
        if body is not None:
            data = body if isinstance(body, (str, bytes)) else json.dumps(body)
            headers["Content-Type"] = content_type
        for attempt in (0, 1):
            try:
                connection = self.connection()
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                text = answer.read()
                is_json = parse and "json" in (answer.getheader("Content-Type") or "")
                return answer.status, json.loads(text) if text and is_json else {}
            except (http.client.HTTPException, ConnectionError, ssl.SSLEOFError):
                self.local.connection.close()
                self.local.connection = None
                if attempt:
                    raise
        raise AssertionError("not reached")

    def get(self, path):
        status, answer = self.request("GET", path)
        if status != 200:
            raise SystemExit(f"GET {path}: HTTP {status}: {answer.get('message')}")
        return answer

    def items(self, path):
        return self.get(path)["items"]

    def create(self, path, body):
        status, answer = self.request("POST", path, body)
        if status not in (200, 201):
            raise SystemExit(f"POST {path}: HTTP {status}: {answer.get('message')}")
        return answer

    def watch(self, path, seconds, accept="application/json"):
        """The lines of a watch as bytes, until the server ends it or no line comes for `seconds` (TimeoutError). Uses a separate connection."""
        connection = self.new_connection(seconds)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}", "Accept": accept})
            answer = connection.getresponse()
            if answer.status != 200:
                raise SystemExit(f"GET {path}: HTTP {answer.status}: {answer.read().decode(errors='replace')}")
            yield from iter(answer.readline, b"")
        finally:
            connection.close()

    def many(self, calls, threads=16):
        """Runs functions in parallel; returns their results, raises the first failure."""
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            return [future.result() for future in [pool.submit(call) for call in calls]]


def devices_of(claim):
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
    return [(r["driver"], r["pool"], r["device"]) for r in results if not r.get("adminAccess")]


def device_class(name="gpu", driver="gpu.example.com", **spec):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}], **spec}}


def template(name, device_class="gpu", count=1):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name},
            "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": device_class, "count": count}}]}}}}


def pod(name, template_name, **metadata):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata},
            "spec": {"containers": [{"name": "c", "image": "example.test/none", "resources": {"claims": [{"name": "gpu"}]}}],
                     "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template_name}]}}


FLEET = """
kind: Fleet
deviceClasses:
- name: gpu
  selectors: ['device.driver == "gpu.example.com"']
models:
  gpu:
    driver: gpu.example.com
    name: gpu-{{device}}
    attributes: {{type: gpu, uuid: "{{uuid}}"}}
    capacity: {{memory: 80Gi}}
nodes:
- name: node-{{index}}
  count: {nodes}
  devices: [{{model: gpu, count: {devices}}}]
"""


def fleet(nodes, devices):
    return FLEET.format(nodes=nodes, devices=devices)
