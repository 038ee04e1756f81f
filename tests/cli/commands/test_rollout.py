"""`rollout` as a command, with ConfigMaps in memory."""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import AsyncIterator

import msgspec
import pytest

from policysched.cli import main
from policysched.cli.options import policy_config_map
from policysched.reload import status_annotations
from policysched.rollout import guards, progress
from tests import builders, report_schemas
from tests.reload import memory_store, test_rollout_requests

POLICIES = ("--policy-configmap", "prod/policies")
VERDICTS = (
    guards.GuardVerdict("pending", guards.GuardState.OK, 0.02, 0.05),
    guards.GuardVerdict("errors", guards.GuardState.UNKNOWN, problem="HTTP 503"),
)
STATE = progress.advance_rollout(
    msgspec.structs.replace(
        test_rollout_requests.STATE,
        stage=1,
        stage_name="10 % of the workloads",
        stage_started_at=builders.EPOCH + datetime.timedelta(minutes=10),
    ),
    test_rollout_requests.PLAN,
    progress.StageCheck(VERDICTS, 7),
    builders.EPOCH,
)
TEXT = """\
rollout of bbb222: running
  version in force at its start: aaa111
  started: 2026-01-05T12:00:00+00:00
  stage 2 of 2 (10 % of the workloads) since 2026-01-05T12:10:00+00:00
  pods judged in this stage: 7, needed 20
  guard pending: 0.02 <= 0.05
  guard errors: HTTP 503
"""


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> test_rollout_requests.Scene:
    """A rollout in its second stage."""
    made = test_rollout_requests.Scene(STATE)

    @contextlib.asynccontextmanager
    async def connect(_args: object) -> AsyncIterator[memory_store.MemoryStore]:
        yield made.store

    monkeypatch.setattr(policy_config_map, "connect_to_config_maps", connect)
    return made


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main.main(["rollout", *words, *POLICIES]) == 0
    return capsys.readouterr().out


def _read(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    report: dict[str, object] = json.loads(_run(capsys, *words, "-o", "json"))
    report_schemas.check_report(report, "rollout")
    return report


def test_a_running_rollout(
    scene: test_rollout_requests.Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """The stage, what was judged and what is needed, and each guard with its numbers."""
    assert _run(capsys, "status") == TEXT
    assert _read(capsys, "status") == {
        "status": "running",
        "hash": "bbb222",
        "oldHash": "aaa111",
        "stage": 2,
        "stageCount": 2,
        "stageName": "10 % of the workloads",
        "startedAt": "2026-01-05T12:00:00+00:00",
        "stageStartedAt": "2026-01-05T12:10:00+00:00",
        "judgedPods": 7,
        "minPods": 20,
        "guards": ["pending: 0.02 <= 0.05", "errors: HTTP 503"],
        "isPaused": False,
        "isFrozen": False,
        "requested": "",
        "reason": "",
    }
    assert scene.store.writes == 0


def test_a_rollout_that_was_rolled_back(
    scene: test_rollout_requests.Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reason comes first."""
    ended = builders.EPOCH + datetime.timedelta(minutes=12)
    scene.keep(
        progress.end_rollout(
            STATE, progress.RolloutStatus.ROLLED_BACK, "stage 2 of 2: slow: 0.3 > 0.2", ended
        )
    )
    lines = _run(capsys, "status").splitlines()
    assert lines[:2] == [
        "rollout of bbb222: rolled back",
        "  reason: stage 2 of 2: slow: 0.3 > 0.2",
    ]
    assert lines[4] == "  stage 2 of 2 (10 % of the workloads) until 2026-01-05T12:12:00+00:00"
    report = _read(capsys, "status")
    assert (report["status"], report["reason"]) == ("rolledBack", "stage 2 of 2: slow: 0.3 > 0.2")


@pytest.mark.parametrize(
    "status, text",
    [
        (progress.RolloutStatus.PROMOTED, "promoted"),
        (progress.RolloutStatus.ROLLED_BACK, "rolled back"),
        (progress.RolloutStatus.REPLACED, "replaced"),
    ],
)
def test_each_end_has_a_name(
    status: progress.RolloutStatus,
    text: str,
    scene: test_rollout_requests.Scene,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`status` shows the end; a request of a pause names it."""
    scene.keep(progress.end_rollout(STATE, status, "its reason", builders.EPOCH))
    assert _run(capsys, "status").startswith(f"rollout of bbb222: {text}\n")
    assert _read(capsys, "status")["status"] == status.value
    assert main.main(["rollout", "pause", *POLICIES]) == 2
    assert f"the rollout of bbb222 was {text}" in capsys.readouterr().err


def test_no_rollout_is_no_error(
    scene: test_rollout_requests.Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the state of every cluster at first."""
    scene.keep(None)
    assert _run(capsys, "status") == "configmap prod/policies has had no rollout\n"
    assert _read(capsys, "status") == {"status": "none"}


def test_a_rollout_is_held_and_goes_on(
    scene: test_rollout_requests.Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """The leader acts on it; until then `status` names the request."""
    said = _run(capsys, "pause")
    assert said == (
        "asked the leader to hold the rollout of bbb222 in stage 2 of 2 (10 % of the workloads); "
        "`rollout status` shows when it has acted\n"
    )
    assert scene.request == "pause bbb222"
    assert _run(capsys, "pause") == "pause of the rollout of bbb222 is already requested\n"
    asked = "  requested: pause; the leader has not acted on it yet"
    assert asked in _run(capsys, "status").splitlines()
    scene.keep(msgspec.structs.replace(STATE, is_paused=True))
    assert _run(capsys, "status") == TEXT.replace("running", "paused")
    assert _read(capsys, "status")["requested"] == "pause"
    assert "asked the leader to continue the rollout of bbb222" in _run(capsys, "resume")
    assert scene.request == "resume bbb222"
    assert _run(capsys, "resume") == "resume of the rollout of bbb222 is already requested\n"


@pytest.mark.parametrize(
    "verb, said",
    [
        ("promote", "asked the leader to use version bbb222 for all pods; "),
        ("abort", "asked the leader to roll version bbb222 back to aaa111; "),
    ],
)
def test_a_rollout_is_ended(
    verb: str, said: str, scene: test_rollout_requests.Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both ways, and as JSON."""
    assert said in _run(capsys, verb)
    assert scene.request == f"{verb} bbb222"
    expected = {"hash": "bbb222", "requested": verb, "isWritten": False}
    assert _read(capsys, verb) == expected


def test_a_freeze_holds_a_rollout_too(
    scene: test_rollout_requests.Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """To resume is then not enough."""
    scene.store.put("prod/policies", {}, {status_annotations.FREEZE: "true"})
    held = "held by the annotation policysched.io/freeze"
    assert held in _run(capsys, "status")
    assert "as long as the ConfigMap has the annotation" in _run(capsys, "resume")
    assert _read(capsys, "status")["isFrozen"] is True
    assert "freeze" not in _run(capsys, "abort")


@pytest.mark.parametrize("verb", ["pause", "resume", "promote", "abort"])
def test_a_request_without_a_rollout(
    verb: str, scene: test_rollout_requests.Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit code 2, nothing written."""
    scene.keep(None)
    assert main.main(["rollout", verb, *POLICIES]) == 2
    told = capsys.readouterr().err
    assert told == "policysched: configmap prod/policies: no rollout is running\n"
    assert scene.store.writes == 0


@pytest.mark.parametrize(
    "argv, code, said",
    [
        pytest.param([], 3, "COMMAND", id="nothing"),
        pytest.param(["begin"], 3, "invalid choice: 'begin'", id="unknown"),
        pytest.param(["status"], 3, "--policy-configmap", id="no-policies"),
        pytest.param(
            ["status", "--policy-configmap", "policies"],
            *(3, "--policy-configmap must be NAMESPACE/NAME, not `policies`"),
            id="no-namespace",
        ),
        pytest.param(
            ["pause", *POLICIES, "--history", "a/b/c"],
            *(3, "--history must be NAMESPACE/NAME, not `a/b/c`"),
            id="history",
        ),
        pytest.param(["abort", *POLICIES, "--kubeconfig", "/none"], 2, "/none", id="kubeconfig"),
    ],
)
def test_what_makes_no_sense(
    argv: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr, before anything is asked."""
    assert main.main(["rollout", *argv]) == code
    told = capsys.readouterr().err
    assert said in told
    assert len(told.splitlines()) == 1
