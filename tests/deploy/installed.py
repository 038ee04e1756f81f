"""policysched with the manifests' arguments, configuration and service account, as a process."""

from __future__ import annotations

import contextlib
import http.client
import pathlib
import ssl
from typing import TYPE_CHECKING, Any

import yaml

from tests.deploy import kubectl, rights
from tests.e2e.scenes import scheduler_process
from tests.realcluster import process

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.realcluster import control_plane as control_planes

_ACCOUNT = f"/api/v1/namespaces/{rights.NAMESPACE}/serviceaccounts/{rights.ACCOUNT}"
_TIMEOUT_SECONDS = 30.0


class Installed:
    """What the second-scheduler overlay would run, on a loopback port.

    Attributes:
        scheduler: the process.
        port: of the secure port.
    """

    def __init__(
        self,
        plane: control_planes.ControlPlane,
        folder: pathlib.Path,
        changes: Mapping[str, Any] | None = None,
    ) -> None:
        """Write its files; `changes` are merged over the configuration's top level."""
        self._plane = plane
        self._since = rights.log_length(plane.folder)
        objects = kubectl.overlay("second-scheduler")
        (text,) = kubectl.find(objects, "ConfigMap", "policysched-config")["data"].values()
        config = yaml.safe_load(text)
        self.port = process.free_port()
        config["serving"]["secureAddress"] = f"127.0.0.1:{self.port}"
        config |= changes or {}
        file = folder / "config.yaml"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        plane.tokens[rights.USER] = _token(plane)
        self.scheduler = scheduler_process.PolicyScheduler(
            plane, folder, flags=_flags(objects, file), user=rights.USER
        )

    def asked(self) -> rights.Asked:
        """Return what our account has asked for since this was made."""
        return rights.asked(self._plane.folder, since=self._since)

    def page(self, path: str, token: str | None = None) -> tuple[int, str]:
        """Return status and body of a page of the secure port, which signs its own certificate."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=_TIMEOUT_SECONDS, context=context
        )
        with contextlib.closing(connection):
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()


def _flags(objects: tuple[dict[str, Any], ...], file: pathlib.Path) -> Sequence[str]:
    """Return the arguments of the container after `run`, with the mounted file where it is here."""
    deployment = kubectl.find(objects, "Deployment", "policysched")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    command, *flags = container["args"]
    assert command == "run"
    return [flag.replace("/etc/policysched/config.yaml", str(file)) for flag in flags]


def _token(plane: control_planes.ControlPlane) -> str:
    """Return a token of the service account, as the kubelet mounts it."""
    body = {"spec": {"expirationSeconds": 3600}}
    answer = plane.client.create(f"{_ACCOUNT}/token", body)
    return str(answer["status"]["token"])
