"""Every command of docs/operations.md and of its reference pages works on a real API server."""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import shlex

import pytest
import yaml

from tests import page_examples
from tests.app import operations_page
from tests.deploy import operator_shell
from tests.realcluster import control_plane as control_planes

_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_PAGES = (*operations_page.PAGES[1:], operations_page.PAGES[0])
"""docs/operations.md is last: its last commands remove everything."""


def _read_steps() -> list[str]:
    """Return the commands in sentences, then those in blocks, page by page, each once."""
    steps: list[str] = []
    for page in _PAGES:
        text = page.read_text(encoding="utf-8")
        steps += [one for one in operations_page.read_commands(text) if one.startswith("kubectl ")]
        for block in page_examples.parse_blocks(text):
            if block.kind == "sh":
                steps += operator_shell.split_commands(block.body)
    return list(dict.fromkeys(steps))


@pytest.mark.e2e
def test_the_commands_work_in_order(tmp_path: pathlib.Path) -> None:
    """From the installation to the removal, with a running scheduler."""
    steps = _read_steps()
    assert len(steps) > 40
    with control_planes.ControlPlane(tmp_path) as plane:
        shell = operator_shell.OperatorShell(plane, tmp_path)
        shell.run("kubectl apply -k deploy/overlays/second-scheduler")
        with shell.scheduler:
            shell.create_cluster()
            plane.client.create(_WEBHOOKS, yaml.safe_load(operations_page.BLOCKS["webhook.yaml"]))
            while not steps[0].startswith("kubectl delete -k"):
                shell.execute(steps.pop(0))
        for step in steps:
            shell.execute(step)
        left = shell.run("kubectl get all,configmaps,leases -n kube-system -o json")
    names = {item["metadata"]["name"] for item in json.loads(left)["items"]}
    assert not [name for name in names if name.startswith("policysched")]


@pytest.mark.parametrize(
    "command",
    [
        one
        for one in operations_page.read_commands(operations_page.TEXT)
        if one.startswith("policysched ")
    ],
)
def test_options_in_sentences_exist(command: str) -> None:
    """The parser of the command accepts them."""
    _, name, *argv = shlex.split(command)
    parser = argparse.ArgumentParser(exit_on_error=False)
    importlib.import_module(f"policysched.cli.commands.{name}").configure(parser)
    parser.parse_args(argv)
