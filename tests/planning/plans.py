"""Runs `plan` on small clusters; what it prints is held to its schema every time."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from policysched.cli import main
from tests import report_schemas
from tests.cli import clusters

NOW = "2026-03-02T10:00:00+00:00"
METRIC = "metric busy: ratio = `busy` node instance\n"


def policy(*rules: str, name: str = "web", head: str = METRIC, scope: str = "for pods") -> str:
    """Return the text of a policy."""
    return f"version 1\n{head}policy {name} {{\n  {scope}\n  " + "\n  ".join(rules) + "\n}\n"


class Folder:
    """A folder with what one test plans about."""

    def __init__(self, path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self._capsys = capsys

    def write(self, name: str, text: str) -> str:
        """Write a file and return its path."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def cluster(self, *items: clusters.Object) -> str:
        """Write a cluster file."""
        return clusters.write(self.path, *items)

    def run(self, *argv: str) -> tuple[int, str, str]:
        """Return the exit code, stdout and stderr of `plan`."""
        exit_code = main.main(["plan", "--now", NOW, *argv])
        said = self._capsys.readouterr()
        return exit_code, said.out, said.err

    def plan(self, old: str, new: str, *items: clusters.Object, **options: Any) -> dict[str, Any]:
        """Return the plan from one policy text to another, "" for none."""
        busy = options.pop("busy", None)
        argv = ["--cluster", self.cluster(*items), *options.pop("argv", ())]
        argv += ["--from", self.write("old.policy", old) if old else "none"]
        argv += ["--to", self.write("new.policy", new) if new else "none"]
        if busy is not None:
            argv += ["--metrics", self.write("metrics.json", json.dumps({"busy": busy}))]
        exit_code, out, err = self.run(*argv, "-o", "json")
        assert err == ""
        report = checked(out)
        counts = (report["summary"][phase] for phase in ("running", "pending"))
        grave = sum(each["unschedulable"] + each["profileRemoved"] for each in counts)
        assert exit_code == int(grave > 0)
        return report


def checked(out: str) -> dict[str, Any]:
    """Return JSON that the schema allows."""
    report: dict[str, Any] = json.loads(out)
    report_schemas.check_report(report, "plan")
    return report


def changed(report: dict[str, Any]) -> dict[str, tuple[str, str | None, str | None]]:
    """Return pod → outcome, old node, new node."""
    return {
        each["pod"].removeprefix("prod/"): (
            each["outcome"],
            each["from"]["node"],
            each["to"]["node"],
        )
        for each in report["changes"]
    }


def causes(report: dict[str, Any]) -> dict[str, tuple[str, list[str]]]:
    """Return pod → kind of cause and names of edits, for those that do not stay."""
    return {
        each["pod"].removeprefix("prod/"): (each["cause"]["kind"], each["cause"]["edits"])
        for each in report["changes"]
        if each["cause"] is not None
    }
