"""kubectl, as an operator runs it, and what it makes of the manifests in deploy/."""

from __future__ import annotations

import functools
import pathlib
import re
import subprocess
from typing import Any

import yaml

from tests.realcluster import components

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
OVERLAYS = tuple(sorted(path.name for path in (DEPLOY / "overlays").iterdir()))
EVERYTHING = pathlib.Path(__file__).resolve().parent / "everything"
"""An overlay over an overlay, with all components."""


class KubectlError(Exception):
    """kubectl ended with another code than 0; the text is what it said."""


def run(*arguments: str, kubeconfig: pathlib.Path | None = None) -> str:
    """Return what kubectl prints, which keeps its cache beside the kubeconfig.

    Raises:
        KubectlError: it failed.
    """
    command = [str(components.binary("kubectl"))]
    if kubeconfig is not None:
        command += ["--kubeconfig", str(kubeconfig), f"--cache-dir={kubeconfig.parent / 'cache'}"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise KubectlError(f"kubectl {' '.join(arguments)}: {done.stderr}{done.stdout}")
    return done.stdout


@functools.cache
def rendered(folder: pathlib.Path) -> tuple[dict[str, Any], ...]:
    """Return the objects that `kubectl apply -k folder` would send."""
    return tuple(yaml.safe_load_all(run("kustomize", str(folder))))


def overlay(name: str) -> tuple[dict[str, Any], ...]:
    """Return the objects of an overlay of deploy/."""
    return rendered(DEPLOY / "overlays" / name)


def find(objects: tuple[dict[str, Any], ...], kind: str, name: str) -> dict[str, Any]:
    """Return the object of that kind and name, which a hash may follow as kustomize appends it."""
    named = re.compile(re.escape(name) + "(-[a-z0-9]{10})?")
    (found,) = (
        one for one in objects if one["kind"] == kind and named.fullmatch(one["metadata"]["name"])
    )
    return found
