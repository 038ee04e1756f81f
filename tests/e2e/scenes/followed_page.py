"""`policysched ui --decisions` in front of a `policysched run` with a secure port."""

from __future__ import annotations

import json
import pathlib
import types
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Self

import trustme
import yaml

from tests.page import page_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import process

READER = "nobody"
PEOPLE = pathlib.Path(__file__).resolve().parents[3] / "deploy" / "base" / "people.yaml"


def prepare(plane: control_planes.ControlPlane, folder: pathlib.Path) -> tuple[str, list[str]]:
    """Give READER the shipped role and a token; return the URL of a secure port, and its flags."""
    roles = yaml.safe_load_all(PEOPLE.read_text(encoding="utf-8"))
    role = next(each for each in roles if each["metadata"]["name"] == "policysched-debug-reader")
    plane.grant(READER, role["rules"])
    (folder / "token").write_text(plane.tokens[READER])
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.crt")
    certificate = authority.issue_cert("127.0.0.1")
    certificate.cert_chain_pems[0].write_to_path(folder / "tls.crt")
    certificate.private_key_pem.write_to_path(folder / "tls.key")
    port = process.free_port()
    flags = [
        f"--secure-address=127.0.0.1:{port}",
        f"--cert-file={folder / 'tls.crt'}",
        f"--key-file={folder / 'tls.key'}",
    ]
    return f"https://127.0.0.1:{port}", flags


class FollowingPage:
    """`policysched ui --decisions`, asked as its page asks.

    Attributes:
        address: what it prints, for a browser.
        url: the secure port that it follows.
        folder: has the token and the authority.
    """

    def __init__(self, url: str, folder: pathlib.Path, *more: str) -> None:
        """Follow the scheduler at `url` with the token and authority in `folder`."""
        self.url, self.folder = url, folder
        flags = ["--decisions", url, "--token-file", str(folder / "token")]
        flags += ["--ca-file", str(folder / "ca.crt"), *more]
        self._page = page_process.start_page(*flags)

    def __enter__(self) -> Self:
        lines = self._page.__enter__()
        assert lines.readline().startswith("the page shows the scheduler at https:")
        self.address = lines.readline().strip()
        self._base, _, self._key = self.address.partition("#key=")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self._page.__exit__(kind, error, trace)

    def ask(self, name: str, /, **parameters: object) -> Any:
        """Return the answer to a question; a problem is an answer with `error`."""
        query = urllib.parse.urlencode(parameters)
        asked = urllib.request.Request(  # noqa: S310 - a URL of our own process
            f"{self._base}api/{name}?{query}", headers={"Authorization": f"Bearer {self._key}"}
        )
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310 - as above
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)
