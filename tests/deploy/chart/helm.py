"""Helm, as an operator runs it, and the objects that it makes of the chart in deploy/."""

from __future__ import annotations

import pathlib
import subprocess
from typing import TYPE_CHECKING, Any

import yaml

from tests.deploy import kubectl
from tests.realcluster import components

if TYPE_CHECKING:
    from collections.abc import Mapping

CHART = kubectl.DEPLOY


class HelmError(Exception):
    """Helm ended with another code than 0; the text is its output."""


def run(*arguments: str, values: Mapping[str, Any] | None = None) -> str:
    """Return the output of a command, which gets the values as its last values file.

    Raises:
        HelmError: it failed.
    """
    command = [str(components.binary("helm")), *arguments]
    if values is not None:
        command += ["--values", "-"]
    done = subprocess.run(
        command, input=yaml.safe_dump(values), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise HelmError(f"{done.stderr}{done.stdout}")
    return done.stdout


def render(
    values: Mapping[str, Any] | None = None, *flags: str, chart: pathlib.Path = CHART
) -> tuple[dict[str, Any], ...]:
    """Return the objects that `helm install` would create.

    Raises:
        HelmError: it failed.
    """
    release = ("policysched", str(chart), "--namespace", "kube-system")
    return tuple(yaml.safe_load_all(run("template", *release, *flags, values=values or {})))
