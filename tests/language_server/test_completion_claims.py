"""What is proposed is what check takes, held against every proposal at many places."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from policysched import _resources
from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lang.words import vocabulary
from policysched.language_server.features import completion, proposals
from policysched.language_server.project import programs

PLACES = 30
PLACES_OF_SHIPPED = 8
PROPOSALS = 5
"""So many of a place are tried, drawn by a fixed seed: each costs a run of check."""
FILES = {
    "names.policy": """\
version 1
param range: duration = 5m
param limit: ratio = 80%
param points: number = 5
param device: string = "sd.*"
let hot = limit
let pool_web = { pool In (web) }
metric cpu_busy: ratio =
  `1 - avg by (instance) (rate(cpu_total{mode="idle"}[$range]))`
  node instance refresh 15s maxAge 2m between 0% and 100% missing score 0
""",
    "web.policy": """\
policy web {
  description "web"
  owner "team"
  mode enforce
  for pods where app = web and requests(cpu) > 1
  nodeAffinity required pool_web and disk NotIn (hdd)
  nodeAffinity preferred zone Exists weight 5
  podAntiAffinity required self topologyKey zone
  topologySpread self topologyKey zone maxSkew 2 whenUnsatisfiable DoNotSchedule
  tolerate dedicated=web:NoSchedule
  reject when cpu_busy > hot and node(disk = hdd) missing allow as too-hot
  reject when free(cpu) < 2 else 3
  score cpu_busy prefer low normalize linear(0%, 90%) missing score points weight 7 as cool
  score LeastAllocated(cpu: 1) weight 5
  score deviceCapacity(memory) / 1Gi + takenDevices(gpu) prefer low missing score 50
}
""",
    "wide.policy": """\
clusterPolicy wide {
  for resources where app = web
  clusterAffinity required provider In (aws)
  spreadConstraint by cluster minGroups 2
  reject when cluster(region = eu) and free(cpu) < 2
  score free(cpu) / allocatable(cpu) prefer high missing score 0 weight 5
  replicas Divided Aggregated
}
""",
    "profile.policy": """\
profile policysched { policies web disable scores NodeResourcesFit param range = 10m }
""",
}
"""A program with everything: in files, since each run of check parses only the one that differs."""
ARGUMENTS = {
    **dict.fromkeys((*vocabulary.NODE_RESOURCE_FUNCTIONS, "requests", "limits"), "(cpu)"),
    **dict.fromkeys(("min", "max", "mod"), "(1, 2)"),
    **dict.fromkeys(vocabulary.STRATEGIES, "(cpu: 1)"),
    **dict.fromkeys(("label", "annotation"), "(x)"),
    **dict.fromkeys((*vocabulary.DEVICE_COUNT_FUNCTIONS,), "(gpu)"),
    **dict.fromkeys((*vocabulary.DEVICE_VALUE_FUNCTIONS,), "(memory)"),
    **dict.fromkeys(("linear",), "(0, 1)"),
    **dict.fromkeys(("shape",), "(0: 0, 1: 100)"),
}
"""What a user writes behind a function; `(1)` behind others."""
MENDED_BY_WHAT_FOLLOWS = re.compile(
    r"but (is|grows)"  # a factor of another unit
    r"|is a number, not a condition|only be compared with a duration"  # what it is compared with
    r"|there is no selector"  # the operator of a requirement
    r"|no condition follows"  # what `and` and `or` join
    r"|needs the pods that may be evicted|protects its pods"  # what `preempt` is about
    r"|low or high is better|has no topologyKey|clause covers it"  # a clause
)
"""What a user is about to write makes these right."""


def places(text: str) -> Iterator[int]:
    """Yield where the words of a text begin, but for those of comments and strings."""
    for match in re.finditer(r'#[^\n]*|"[^"\n]*"|[$A-Za-z0-9_][A-Za-z0-9_./-]*', text):
        if match[0][0] not in '#"':
            yield match.start()


def rest(text: str, offset: int) -> str:
    """Return the text from the line behind that of a place on."""
    end = text.find("\n", offset)
    return text[end:] if end >= 0 else ""


def written(proposal: proposals.CompletionProposal, text: str, offset: int) -> str:
    """Return what a user writes who takes a proposal."""
    in_query = text.count("`", 0, offset) % 2 == 1
    is_call = proposal.kind == "function" or proposal.text in vocabulary.NORMALIZATIONS
    is_bare = text[:offset].endswith("normalize ") and proposal.text in ("rank", "minmax", "max")
    if in_query or not is_call or is_bare:
        return proposal.text
    return proposal.text + ARGUMENTS.get(proposal.text, "(1)")


def refused(
    files: dict[str, str], name: str, offset: int, rng: random.Random
) -> Iterator[tuple[str, diagnostics.Diagnostic]]:
    """Yield proposals at a place of a file that check finds an error in, whatever follows."""
    text = files[name]
    found = completion.propose_completions(
        programs.PolicyProgram(tuple(_sources(files))), name, offset
    )
    in_query = text.count("`", 0, offset) % 2 == 1
    tail = text[found.end :] if in_query else rest(text, found.end)
    tried = found.items if len(found.items) <= PROPOSALS else rng.sample(found.items, PROPOSALS)
    for each in tried:
        new = text[: found.start] + written(each, text, offset) + tail
        end = found.start + len(each.text)
        for finding in checker.check(_sources(files | {name: new})).diagnostics:
            is_here = found.start <= finding.span.start and finding.span.end <= end
            is_empty = finding.span.start == finding.span.end
            is_error = finding.severity is diagnostics.Severity.ERROR
            if finding.span.file != name or not is_error or not is_here or is_empty:
                continue
            if not MENDED_BY_WHAT_FOLLOWS.search(finding.message):
                yield f"{new[found.start - 30 : found.start]}«{each.text}»", finding


def _sources(files: dict[str, str]) -> list[source.SourceText]:
    return [source.SourceText(name, text) for name, text in files.items()]


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "at_most",
    [pytest.param(PLACES, id="some"), pytest.param(1_000, id="all", marks=pytest.mark.proof)],
)
def test_check_takes_every_proposal_in_a_program_with_everything(name: str, at_most: int) -> None:
    """At each word, with what belongs to the proposal; the statement may then be incomplete."""
    rng = random.Random(1)
    offsets = sorted(places(FILES[name]))
    assert [
        (shown, finding.code, finding.message)
        for offset in rng.sample(offsets, min(at_most, len(offsets)))
        for shown, finding in refused(FILES, name, offset, rng)
    ] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    sorted(path.name for path in _resources.find_resource_folder("policies").glob("*.policy")),
)
def test_check_takes_proposals_in_shipped_policies(name: str) -> None:
    """As above, at some places."""
    rng = random.Random(2)
    text = _resources.read_resource_text("policies", name)
    offsets = rng.sample(sorted(places(text)), PLACES_OF_SHIPPED)
    assert [
        (shown, finding.code, finding.message)
        for offset in offsets
        for shown, finding in refused({name: text}, name, offset, rng)
    ] == []
