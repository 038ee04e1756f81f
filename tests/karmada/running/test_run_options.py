"""Options of `karmada run`: those of karmada-scheduler, and one clear error for what is wrong."""

from __future__ import annotations

import argparse
import importlib.util

import pytest

from policysched.cli import main
from policysched.cli.subcommands import karmada_run
from policysched.config import addresses
from policysched.karmada_loop import options


def _parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    karmada_run.configure(parser)
    return parser.parse_args(words)


def test_defaults_are_karmadas() -> None:
    """But for addresses, which are those of this machine alone."""
    said = karmada_run.read_karmada_run_options(_parsed())
    assert said == options.KarmadaSchedulerOptions(
        metrics_address=addresses.ListenAddress("127.0.0.1", 8080),
        health_address=addresses.ListenAddress("127.0.0.1", 10351),
    )
    assert (said.qps, said.burst) == (40.0, 60)
    assert (said.retry.base_seconds, said.retry.max_seconds) == (0.005, 1000.0)
    assert (said.retry.per_second, said.retry.burst) == (10.0, 100)


def test_estimators_are_asked_as_karmada_is_told_to() -> None:
    """Off by default; when on, the other options have karmada-scheduler's names and defaults."""
    assert karmada_run.read_karmada_run_options(_parsed()).estimators is None
    said = karmada_run.read_karmada_run_options(
        _parsed("--enable-scheduler-estimator=true")
    ).estimators
    assert said == options.EstimatorOptions(
        timeout_seconds=3.0,
        service_namespace="karmada-system",
        service_prefix="karmada-scheduler-estimator",
        port=10352,
    )
    said = karmada_run.read_karmada_run_options(
        _parsed(
            "--enable-scheduler-estimator",
            "--disable-scheduler-estimator-in-pull-mode",
            "--scheduler-estimator-timeout=500ms",
            "--scheduler-estimator-port=1",
            "--scheduler-estimator-ca-file=ca.crt",
            "--insecure-skip-estimator-verify=true",
        )
    ).estimators
    assert said == options.EstimatorOptions(
        timeout_seconds=0.5, port=1, with_pull_clusters=False, ca_file="ca.crt", is_verified=False
    )


def test_priorities_are_a_gate() -> None:
    """First in, first out without it."""
    assert not karmada_run.read_karmada_run_options(_parsed()).by_priority
    said = _parsed("--feature-gates=AllBeta=true,PriorityBasedScheduling=true")
    assert karmada_run.read_karmada_run_options(said).by_priority


def test_without_the_extra_it_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One error, before anything is connected."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert main.main(["karmada", "run", "--enable-scheduler-estimator"]) == 2
    assert 'pip install "policysched[karmada]"' in capsys.readouterr().err


@pytest.mark.parametrize(
    "word, expected",
    [
        (":8080", addresses.ListenAddress("0.0.0.0", 8080)),  # noqa: S104 - what is asked for
        ("[::1]:80", addresses.ListenAddress("::1", 80)),
        ("0", None),
        ("", None),
    ],
)
def test_addresses_are_written_as_in_go(
    word: str, expected: addresses.ListenAddress | None
) -> None:
    """A port alone is that of all addresses, 0 is for nowhere."""
    said = karmada_run.read_karmada_run_options(_parsed(f"--metrics-bind-address={word}"))
    assert said.metrics_address == expected


@pytest.mark.parametrize(
    "words, expected",
    [
        (["--bind-address=0.0.0.0"], ["--bind-address is ignored"]),
        (["--secure-port", "10351"], ["--secure-port is ignored"]),
        (["--enable-pprof=true"], ["--enable-pprof is ignored"]),
        (["--plugins=*,-TaintTolerations"], ["--plugins: there is no plugin `TaintTolerations`"]),
        (["--plugins=*,-TaintToleration,-WorkloadAffinity"], []),
        (["--plugins="], []),
        (["--scheduler-name=x"], ["the Lease karmada-scheduler belongs to default-scheduler"]),
        (["--scheduler-name=x", "--leader-elect-resource-name=x"], []),
        (["--scheduler-name=x", "--leader-elect=false"], []),
        (["--scheduler-estimator-port=10353"], []),
        (["--enable-scheduler-estimator"], ["connections to estimators are not encrypted without"]),
        (["--enable-scheduler-estimator", "--scheduler-estimator-ca-file=ca.crt"], []),
        (
            [
                "--enable-scheduler-estimator",
                "--insecure-skip-estimator-verify",
                "--scheduler-estimator-cert-file=tls.crt",
            ],
            ["--insecure-skip-estimator-verify: cert", "no client certificate"],
        ),
    ],
    ids=lambda value: " ".join(value) if value and value[0].startswith("--") else "",
)
def test_what_changes_nothing_is_said(words: list[str], expected: list[str]) -> None:
    """Removed options, those of Go, and a second scheduler with the Lease of the first."""
    args = _parsed(*words)
    karmada_run.read_karmada_run_options(args)
    warnings = karmada_run.find_ignored_option_warnings(args)
    assert len(warnings) == len(expected)
    assert all(said.startswith(begin) for said, begin in zip(warnings, expected, strict=True))


@pytest.mark.parametrize(
    "word, expected",
    [
        ("--scheduler-estimator-port=65536", "is not a port from 0 to 65535"),
        ("--scheduler-estimator-port=-1", "is not a port from 0 to 65535"),
        (f"--scheduler-estimator-port={'1' * 5000}", "is not a port from 0 to 65535"),
        ("--scheduler-estimator-timeout=3", "is not a duration such as"),
        ("--scheduler-name=", "is not a name"),
        ("--scheduler-name=a/b", "is not a name"),
        ("--kube-api-qps=0", "must be more than 0"),
        ("--kube-api-qps=nan", "must be more than 0"),
        ("--kube-api-qps=inf", "`--kube-api-qps=-1` means no limit"),
        ("--master=karmada", "--master: `karmada` is not the address of a server"),
        ("--master=10.0.0.1:5443", "write https://HOST:PORT"),
        ("--master=https://", "is not the address of a server"),
        ("--master=https://karmada:99999", "is not the address of a server"),
        ("--master=https://[::1", "is not the address of a server"),
        ("--rate-limiter-base-delay=soon", "must be durations such as"),
        ("--rate-limiter-qps=0", "must be more than 0"),
        ("--leader-elect-lease-duration=1s", "must be greater than"),
        ("--leader-elect-resource-name=", "needs a name"),
        ("--health-probe-bind-address=somewhere", "--health-probe-bind-address: `somewhere`"),
        ("--feature-gates=PriorityBased=true", "is not a feature gate of Karmada"),
        ("--logtostderr", "--logtostderr; see `policysched karmada run --help`"),
    ],
)
def test_what_is_wrong_is_one_error(
    word: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3, before anything is connected."""
    assert main.main(["karmada", "run", word]) == 3
    said = capsys.readouterr()
    assert expected in said.err
    assert len(said.err.splitlines()) == 1


def test_a_missing_kubeconfig_is_one_error(capsys: pytest.CaptureFixture[str]) -> None:
    """It names the file, and shows no traceback."""
    assert main.main(["karmada", "run", "--kubeconfig", "nowhere.config"]) == 2
    assert "nowhere.config" in capsys.readouterr().err.splitlines()[-1]
