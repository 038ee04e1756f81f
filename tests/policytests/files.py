"""A policy, and files of tests of it."""

from __future__ import annotations

import pathlib
import textwrap

POLICY = """\
metric busy: ratio = `busy` node instance refresh 15s maxAge 2m

policy web {
  for pods where app = web

  reject when busy > 80% missing allow as too-hot
  nodeAffinity required disk = ssd as fast-disk
  score busy prefer low normalize linear(0%, 100%) missing score 0 weight 10 as quiet
  tolerate dedicated=web:NoSchedule as enter
  reject when free(cpu) < 0 during "Mon-Fri 08:00-20:00 Europe/Berlin" as by-day
}

profile only-web {
  policies web
  disable all scores
}
"""
HEAD = """\
policies: [web.policy]
now: 2026-03-02T10:00:00+01:00
nodes:
  n1: {labels: {disk: ssd, zone: a}}
  n2: {from: n1, labels: {zone: b}}
  n3: {from: n1, labels: {disk: hdd}}
  n4: {from: n2, taints: [dedicated=web:NoSchedule]}
metrics:
  busy: {n1: 90%, n2: 40%, n3: 10%, n4: 50%}
pods:
  web: {labels: {app: web}, requests: {cpu: 1}}
"""


def write(folder: pathlib.Path, tests: str, head: str = HEAD, policy: str = POLICY) -> str:
    """Write a policy and a file of tests of it; return the path of the file."""
    (folder / "web.policy").write_text(policy, encoding="utf-8")
    path = folder / "web_test.yaml"
    path.write_text(f"{head}tests:\n{textwrap.indent(textwrap.dedent(tests), '  ')}", "utf-8")
    return str(path)


def expecting(folder: pathlib.Path, expect: str, more: str = "pod: web") -> str:
    """Write a file with one test that expects something, in one line."""
    return write(folder, f"- {{name: it, {more}, expect: {{{expect}}}}}\n")
