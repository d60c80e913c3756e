"""A real etcd of a test's own, with the API v2 that torchrun's etcd rendezvous uses; and jobs that meet there."""
import base64
import json
import shutil
import urllib.error
import urllib.request

from harness import free_port, wait_for

START_SECONDS = 30


class Etcd:
    """Runs until the test ends, or until stop(). Its data are in the test's folder."""

    def __init__(self, case):
        case.need(shutil.which("etcd"), "etcd (Debian's package etcd-server)")
        self.port = free_port()
        peers = f"http://127.0.0.1:{free_port()}"
        clients = f"http://127.0.0.1:{self.port}"
        self.run = case.start(
            ["etcd", "--enable-v2", "--data-dir", case.folder / f"etcd{self.port}", "--listen-client-urls", clients,
             "--advertise-client-urls", clients, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
             "--initial-cluster", f"default={peers}"])
        if not wait_for(lambda: self.get("/version"), START_SECONDS):
            case.fail(f"etcd does not start:\n{self.run}")

    def get(self, path):
        """What it answers; empty if it does not."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.read().decode()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return ""

    def value(self, key):
        answer = self.get(f"/v2/keys{key}")
        return json.loads(answer)["node"]["value"] if answer else ""

    def state(self, run_id):
        """Of the rendezvous, as torchrun's agents see it."""
        return base64.b64decode(self.value(f"/torch/elastic/rendezvous/{run_id}"))

    def stop(self):
        if self.run.wait(0) is None:
            self.run.signal(15)
            self.run.wait(30)
