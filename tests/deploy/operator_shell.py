"""The shell of an operator: commands of the pages, run against a control plane of their own.

No controller and no kubelet runs here: the shell plays the Deployment controller for
`kubectl rollout status`.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import signal
import sys
from typing import TYPE_CHECKING

import trustme

from tests.deploy import kubectl, shell_commands
from tests.e2e.scenes import scheduler_process
from tests.realcluster import components, manifests, process, warm_start

if TYPE_CHECKING:
    from tests.realcluster import control_plane as control_planes

_POLICIES = "/api/v1/namespaces/kube-system/configmaps/policysched-policies"
_CONFIG_MAP = "kube-system/policysched-policies"
_LIMIT_SECONDS = 150.0
_POLICY = """\
version 1
policy web {
  for pods where app = web
  nodeAffinity preferred disk = ssd weight 5 as fast-disk
}
profile policysched { policies web }
"""
_ADDRESS = re.compile(r"(0\.0\.0\.0|127\.0\.0\.1):\d+")
_SERVERS = {"run": "synced", "webhook": "serving"}
"""Commands that run until a signal ends them, and the word of their log once they work."""
_DIFFERENT = 1
_AUTHOR = "-c user.name=operator -c user.email=operator@example.com"


def split_commands(block: str) -> list[str]:
    """Return the commands of a block, a command of several lines as one."""
    return [line for line in block.replace("\\\n", " ").splitlines() if line.strip()]


class OperatorShell:
    """A folder with the manifests, a configuration and policies under git, and a cluster."""

    def __init__(self, plane: control_planes.ControlPlane, folder: pathlib.Path) -> None:
        """Write the files."""
        self._plane, self._folder = plane, folder
        kubeconfig = plane.write_kubeconfig(folder / "admin.kubeconfig")
        programs = (components.binary("kubectl").parent, pathlib.Path(sys.executable).parent)
        paths = os.pathsep.join((*map(str, programs), os.environ["PATH"]))
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "PATH": paths}
        (folder / "deploy").symlink_to(kubectl.DEPLOY)
        config = (kubectl.DEPLOY / "base" / "config.yaml").read_text(encoding="utf-8")
        (folder / "config.yaml").write_text(config, encoding="utf-8")
        (folder / "policies").mkdir()
        (folder / "policies" / "web.policy").write_text(_POLICY, encoding="utf-8")
        self._write_certificate()
        for command in ("git init -q", "git add policies", f"git {_AUTHOR} commit -qm Policies"):
            self.run(command)
        flags = ("--leader-elect", "--policy-configmap", _CONFIG_MAP)
        self.scheduler = scheduler_process.PolicyScheduler(plane, folder, flags=flags)

    def _write_certificate(self) -> None:
        certificate = trustme.CA().issue_cert("policysched-webhook.kube-system.svc")
        certificate.cert_chain_pems[0].write_to_path(self._folder / "tls.crt")
        certificate.private_key_pem.write_to_path(self._folder / "tls.key")

    def create_cluster(self) -> None:
        """Create the objects that the pages name, and two versions in the history."""
        client = self._plane.client
        client.create_nodes([manifests.node("node-1")])
        client.create_namespace("prod")
        client.create_pods("prod", [manifests.pod("web-0", scheduler_name="policysched")])
        self.scheduler.wait_until(lambda: len(self.list_versions()) == 1)
        client.patch(_POLICIES, {"data": {"policysched.policy": _POLICY}})
        self.scheduler.wait_until(lambda: len(self.list_versions()) == 2)

    def list_versions(self) -> list[str]:
        """Return the hashes of the versions in the history."""
        kubeconfig = str(self.scheduler.kubeconfig)
        flags = ("-o", "json", "--policy-configmap", _CONFIG_MAP, "--kubeconfig", kubeconfig)
        listed = warm_start.run("rollback", "--list", *flags)
        listed.check_returncode()
        return [version["hash"] for version in json.loads(listed.stdout)]

    def execute(self, command: str) -> None:
        """Run a command of a page to its end, or a server until it works and a signal ends it."""
        words = shlex.split(command, comments=True)
        if words[:2] == ["kubectl", "rollout"]:
            shell_commands.finish_rollout(self._plane.client)
        if words[0] == "policysched" and words[1] in _SERVERS and "--print-config" not in words:
            self._serve(words)
        elif words[:2] == ["policysched", "rollback"] and not words[2].startswith("-"):
            self.run(command.replace(words[2], self.list_versions()[0]))
        else:
            self.run(command)

    def run(self, command: str) -> str:
        """Return the output of a command that must succeed; `kubectl diff` may end with 1."""
        exit_codes = (0, _DIFFERENT) if command.startswith("kubectl diff") else (0,)
        return shell_commands.run_commands(command, self._folder, self._environment, exit_codes)

    def _serve(self, words: list[str]) -> None:
        """Start a server on a port of its own, wait until it works, and end it."""
        command = [_ADDRESS.sub(f"127.0.0.1:{process.free_port()}", word) for word in words]
        log = self._folder / f"served-{len(list(self._folder.iterdir()))}.log"
        program = ["env", "-C", str(self._folder), *command]
        server = process.ServerProcess(program, log=log, environment=self._environment)
        ready = _SERVERS[words[1]]
        server.start()
        try:
            server.wait_until(lambda: ready in log.read_text(), time_limit_seconds=_LIMIT_SECONDS)
            server.signal(signal.SIGTERM)
            assert server.wait(_LIMIT_SECONDS) == 0
        finally:
            server.kill()
