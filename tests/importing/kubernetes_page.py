"""docs/from-kubernetes.md: its pairs of pod YAML and policy, and its tables.

Fenced blocks by their info string:

    yaml pod              part of a pod, which the next policy replaces
    yaml configuration    a KubeSchedulerConfiguration, which the next policy replaces
    yaml, policy          an excerpt; policies are checked
    yaml NAME.yaml        a file that commands of the page read
    console               commands (`$ policysched …`), each followed by its output
"""

from __future__ import annotations

import itertools
import pathlib
import re
from typing import NamedTuple

import yaml

from tests.importing import page_clusters

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "from-kubernetes.md"
TEXT = PAGE.read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^##+ (.*)$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\(#([\w-]+)\)")


class Block(NamedTuple):
    """A fenced block, and the heading above it as an anchor."""

    section: str
    info: str
    body: str


class Pair(NamedTuple):
    """A spec of a pod, and the policy that replaces it."""

    section: str
    spec: page_clusters.Manifest
    policy: str


class Promise(NamedTuple):
    """A row of the first table: the aspects in which a pod and a policy agree."""

    section: str
    nodes: str
    own_points: str
    other_points: str


def read_blocks() -> list[Block]:
    """Return all fenced blocks, in order."""
    return [Block(_section_at(m.start()), m[1], m[2]) for m in _BLOCK.finditer(TEXT)]


def read_pairs() -> dict[str, Pair]:
    """Return the pairs by section."""
    blocks = read_blocks()
    found = {}
    for block, after in itertools.pairwise(blocks):
        if block.info == "yaml pod":
            spec = yaml.safe_load(block.body)["spec"]
            found[block.section] = Pair(block.section, spec, after.body)
    return found


def read_promises() -> list[Promise]:
    """Return the rows of the first table."""
    return [Promise(_LINK.findall(cells[0])[0], *cells[2:]) for cells in read_table("at-a-glance")]


def read_table(section: str, number: int = 0) -> list[list[str]]:
    """Return the cells of a table of a section, without its head."""
    text = _sections()[section]
    tables = re.findall(r"(?:^\|.*\n)+", _BLOCK.sub("", text), re.MULTILINE)
    rows = tables[number].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]


def read_codes(cell: str) -> list[str]:
    """Return the code of a cell, without backticks."""
    return _CODE.findall(cell)


def _sections() -> dict[str, str]:
    parts = _HEADING.split(TEXT)[1:]
    return {_anchor(title): text for title, text in zip(parts[::2], parts[1::2], strict=True)}


def _section_at(position: int) -> str:
    return _anchor(_HEADING.findall(TEXT, 0, position)[-1])


def _anchor(title: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
