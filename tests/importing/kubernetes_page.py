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
import re
from typing import NamedTuple

import yaml

from tests import page_examples
from tests.importing import page_clusters
from tests.repository import doc_pages

PAGE = page_examples.DOCS / "from-kubernetes.md"
TEXT = PAGE.read_text(encoding="utf-8")
_HEADING = re.compile(r"^##+ (.*)$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\(#([\w-]+)\)")


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


def read_pairs() -> dict[str, Pair]:
    """Return the pairs by section."""
    found = {}
    for section, text in _sections().items():
        for block, after in itertools.pairwise(page_examples.parse_blocks(text)):
            if block.info == "yaml pod":
                spec = yaml.safe_load(block.body)["spec"]
                found[section] = Pair(section, spec, after.body)
    return found


def read_promises() -> list[Promise]:
    """Return the rows of the first table."""
    return [Promise(_LINK.findall(cells[0])[0], *cells[2:]) for cells in read_table("at-a-glance")]


def read_table(section: str, number: int = 0) -> list[list[str]]:
    """Return the cells of a table of a section, without its head."""
    text = _sections()[section]
    tables = re.findall(r"(?:^\|.*\n)+", page_examples.remove_blocks(text), re.MULTILINE)
    rows = tables[number].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]


def read_codes(cell: str) -> list[str]:
    """Return the code of a cell, without backticks."""
    return _CODE.findall(cell)


def _sections() -> dict[str, str]:
    """Return the text of each section, keyed by the anchor of its heading."""
    parts = _HEADING.split(TEXT)[1:]
    titles = map(doc_pages.make_anchor, parts[::2])
    return dict(zip(titles, parts[1::2], strict=True))
