from __future__ import annotations

import argparse
import io
import json
import pathlib
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from policysched import errors
from policysched.cli import main
from policysched.cli.commands import ui
from policysched.cli.subcommands import ui_sources
from policysched.page import page_source
from tests.cli import clusters
from tests.page import planes
from tests.realcluster import process


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> str:
    """A cluster file with a node and a pending pod."""
    return clusters.write(tmp_path, clusters.node("a"), clusters.pod("new"))


_FOLLOW = ["--decisions", "https://127.0.0.1:9"]


def make_address() -> str:
    """Return an address that nothing listens on."""
    return f"127.0.0.1:{process.free_port()}"


@pytest.mark.parametrize(
    "options, exit_code, told",
    [
        pytest.param(["--policies", "x"], 3, "--policies needs a cluster", id="policies"),
        pytest.param(["--metrics", "x"], 3, "--metrics needs a cluster", id="metrics"),
        pytest.param(["--address", "8780"], 3, "is not an address", id="address"),
        pytest.param(["--address", "0.0.0.0:0"], 3, "is not a loopback address", id="network"),
        pytest.param(["--plugins", "x"], 3, "--plugins is for bindings", id="Karmada's option"),
        pytest.param(["--cluster", "none.json"], 2, "none.json", id="no file"),
        pytest.param(["--cluster", ""], 3, "--cluster is empty", id="empty"),
        pytest.param(["--cluster", "x", "--live"], 3, "give only one", id="two clusters"),
        pytest.param(["--token-file", "x"], 3, "--token-file needs a running", id="token"),
        pytest.param(["--decisions", "x.json"], 3, "needs the URL of a running", id="no URL"),
        pytest.param(["--decisions", "https://a b"], 2, "is not the URL of a server", id="odd URL"),
        pytest.param(["--decisions", "https://u:pw@h"], 2, "//(hidden)@h`: contains", id="user"),
        pytest.param(["--decisions", ""], 3, "--decisions is empty", id="empty URL"),
        pytest.param([*_FOLLOW, "--cluster", "x"], 3, "mutually exclusive", id="file and URL"),
        pytest.param([*_FOLLOW, "--policies", "x"], 3, "--policies needs a listing", id="engine"),
        pytest.param([*_FOLLOW, "--token-file", "none"], 2, "none: cannot be read", id="no token"),
        pytest.param(
            [*_FOLLOW, "--ca-file", "none"], 2, "none: cannot be read", id="no file of CA"
        ),
        pytest.param(
            [*_FOLLOW, "--ca-file", __file__], 2, "contains no certificate", id="no authority"
        ),
        pytest.param(
            ["--decisions", "https://127.0.0.1:9/ui/"], 3, "write https://127.0.0.1:9", id="path"
        ),
        pytest.param(["--decisions", "https://h?a=b"], 3, "write https://h", id="query"),
        pytest.param(
            ["--decisions", "http://10.0.0.1:9", "--token-file", __file__],
            *(2, "`http://10.0.0.1:9`: has no TLS, so others"),
            id="token in clear text",
        ),
    ],
)
def test_what_cannot_work_is_told_at_the_start(
    options: list[str], exit_code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On one line, with the exit code of its kind."""
    assert main.main(["ui", *options]) == exit_code
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_port_that_is_taken_is_told(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the address and the reason."""
    with socket.socket() as taken:
        address = make_address()
        taken.bind(("127.0.0.1", int(address.partition(":")[2])))
        taken.listen()
        assert main.main(["ui", "--cluster", cluster, "--address", address]) == 2
    assert f"`{address}`: cannot listen on this address" in capsys.readouterr().err


def make_source(*words: str) -> page_source.PageSource:
    """Return what the command shows."""
    parser = argparse.ArgumentParser()
    ui.configure(parser)
    return ui_sources.make_cluster_source(parser.parse_args(words))


def test_a_control_plane_is_shown_as_bindings(tmp_path: pathlib.Path) -> None:
    """Without nodes and pods, clusters and bindings are shown; options of karmada-scheduler act."""
    file = clusters.write(tmp_path, *planes.make_items())
    view = make_source("--cluster", file, "--plugins", "*,-ClusterAffinity").get_view()
    assert view.answers.shows == "bindings"
    assert len(view.inputs.plane.bindings) == 5
    assert view.answers.make_explanation("shop/nowhere")["feasible"] == 3


def test_nodes_win_over_clusters(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A note says what is not shown."""
    file = clusters.write(tmp_path, clusters.node("a"), *planes.make_items())
    view = make_source("--cluster", file).get_view()
    assert view.answers.shows == "pods"
    assert not view.inputs.plane.bindings
    assert "not the 5 bindings of a Karmada control plane" in capsys.readouterr().err
    with pytest.raises(errors.UsageError, match="--feature-gates is for bindings"):
        make_source("--cluster", file, "--feature-gates", "WorkloadAffinity=true")


def test_a_listing_of_a_control_plane_has_no_scheduler_to_follow(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A scheduler decides about pods, and the listing has none."""
    listing = make_source("--cluster", clusters.write(tmp_path, *planes.make_items()))
    monkeypatch.setattr(ui_sources, "make_cluster_source", lambda _: listing)
    assert main.main(["ui", *_FOLLOW, "--live"]) == 3
    assert "and the listing is of a Karmada control plane" in capsys.readouterr().err


def test_stdin_with_json_lines_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page shows one cluster."""
    line = json.dumps(clusters.list_of(clusters.node("a"))).encode() + b"\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(line)))
    with pytest.raises(errors.UsageError, match="the page shows one cluster"):
        make_source("--cluster", "-")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_end(cluster: str, number: signal.Signals) -> None:
    """It prints where, answers with the key, and ends well."""
    command = [sys.executable, "-m", "policysched", "ui", "--cluster", cluster]
    with subprocess.Popen(
        [*command, "--address", make_address()], stdout=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        assert served.stdout.readline() == f"the page shows {cluster}; Ctrl-C ends it:\n"
        base, _, key = served.stdout.readline().strip().partition("#key=")
        asked = urllib.request.Request(  # noqa: S310 - a URL of our own process
            f"{base}api/status", headers={"Authorization": f"Bearer {key}"}
        )
        with urllib.request.urlopen(asked) as answer:  # noqa: S310 - as above
            status = json.load(answer)
        served.send_signal(number)
        assert served.wait(20) == 0
    assert (status["kind"], status["nodes"], status["pending"]) == ("file", 1, 1)


@pytest.mark.slow
def test_the_file_that_opens_the_browser_is_private(
    cluster: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--open` starts $BROWSER with a file that redirects, not with the key."""
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\nfile=${{1#file://}}\nstat -c %a "$file" > {seen}\ncat "$file" >> {seen}\n'
        f'echo "$1" >> {seen}\n'
    )
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    command = [sys.executable, "-m", "policysched", "ui", "--cluster", cluster, "--open"]
    with subprocess.Popen(
        [*command, "--address", make_address()], stdout=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        served.stdout.readline()
        url = served.stdout.readline().strip()
        while not seen.exists() or seen.read_text().count("\n") < 3:
            assert served.poll() is None
        served.terminate()
        assert served.wait(20) == 0
    mode, content, argument = seen.read_text().splitlines()
    assert mode == "600"
    assert f'url={url}"' in content
    assert "key" not in argument
