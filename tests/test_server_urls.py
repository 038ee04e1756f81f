"""Which texts are URLs of servers, and that every option that takes one says so in one line."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable

import pytest

from policysched import server_urls
from policysched.cli import main

MALFORMED = [
    "http://[::bad",
    "http://host:99999",
    "http://host:0",
    "http://host:x",
    "http://x:\u0661",
    "http://",
    "http://?x",
    "//x",
    "http://a b/",
    "http://h\t/",
    "http://h\n/",
    "http://h\x00/",
    "http://a..b/",
    "http://.a/",
    f"http://{'a' * 64}/",
    "http://ho\u2026st/",
    "http://\u200b/",
    "http://h\ud800/",
    "http://%zz/",
    "http://a\\b/",
    "http://[v1.x]/",
    "http://[127.0.0.1]/",
    "ftp://host",
]
USABLE = [
    "http://host",
    "https://host:443/path?q#f",
    "http://[::1]:9090",
    "http://[fe80::1%25eth0]/",
    "http://127.0.0.1:1",
    "http://b\u00fccher.example",
    "http://a_b-c.example./",
    "http://user:word@host",
]


@pytest.mark.parametrize("url", MALFORMED, ids=ascii)
def test_a_text_that_no_client_can_use_is_no_url_of_a_server(url: str) -> None:
    """None of the clients has to find out."""
    assert server_urls.split_server_url(url) is None


@pytest.mark.parametrize("url", USABLE, ids=ascii)
def test_a_url_of_a_server_is_taken_apart(url: str) -> None:
    """Addresses in brackets, names beyond ASCII, ports and paths are fine."""
    parts = server_urls.split_server_url(url)
    assert parts is not None
    assert parts.geturl() == url


def test_a_quoted_url_holds_no_password_and_no_control_character() -> None:
    """It can be printed."""
    assert server_urls.format_url_for_message("http://u:p w@h\x1b/") == "`http://(hidden)@h\\x1b/`"


def _kubeconfig(folder: pathlib.Path, **cluster: str) -> str:
    file = folder / "kubeconfig"
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    content = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "x"}}],
        "contexts": [context],
        "current-context": "c",
    }
    file.write_text(json.dumps(content), encoding="utf-8")
    return str(file)


def _configuration(folder: pathlib.Path, endpoint: str) -> str:
    file = folder / "conf.json"
    content = {
        "apiVersion": "policysched.io/v1alpha1",
        "kind": "PolicySchedulerConfiguration",
        "tracing": {"endpoint": endpoint},
    }
    file.write_text(json.dumps(content), encoding="utf-8")
    return str(file)


_COMMANDS: dict[str, Callable[[pathlib.Path, str], list[str]]] = {
    "--decisions": lambda _, url: ["explain", "--decisions", url, "pod", "a/b"],
    "lint --prometheus": lambda _, url: ["lint", "policies", "--prometheus", url],
    "run --prometheus": lambda _, url: ["run", "--print-config", "--prometheus", url],
    "karmada --prometheus": lambda _, url: ["karmada", "run", "--prometheus", url],
    "--master": lambda _, url: ["karmada", "run", "--master", url],
    "server": lambda folder, url: [
        "explain", "--all", "--kubeconfig", _kubeconfig(folder, server=url)
    ],
    "proxy-url": lambda folder, url: [
        "explain", "--all", "--kubeconfig",
        _kubeconfig(folder, server="https://127.0.0.1:1", **{"proxy-url": url}),
    ],
    "tracing": lambda folder, url: ["check", "--config", _configuration(folder, url)],
}  # fmt: skip


@pytest.mark.parametrize("url", MALFORMED, ids=ascii)
@pytest.mark.parametrize("command", _COMMANDS)
def test_a_malformed_url_is_one_error(
    command: str, url: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that names the fault, an exit code of wrong input or usage, no traceback."""
    assert main.main(_COMMANDS[command](tmp_path, url)) in (2, 3)
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert said.err.startswith("policysched: ")
    assert said.err.rstrip("\n").isprintable()
