"""What commands print on terminals: colours, widths, nothing that a terminal obeys."""

from __future__ import annotations

import json
import pathlib
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.cli import main
from policysched.cli.render import finding_wrapping, styles, tables, wrapping
from tests.cli import clusters, terminals
from tests.cli.commands import test_explain_decisions
from tests.karmada import cases
from tests.policytests import files

NODE = "ip-10-0-{}-17.eu-central-1.compute.internal"
POLICY = """\
policy web-tier-of-the-shop {
  for pods in namespace (prod)
  nodeAffinity required disk = ssd as only-nodes-with-a-fast-disk
  score free(cpu) prefer high weight 7 as prefer-nodes-with-many-free-cores
}
"""
LONG = """\
policy only-fast-disks { description "d" owner "o" for pods nodeAffinity required disktype Inn (ssd)
}
"""
UNUSED = """\
policy one { for pods in namespace (prod, staging, development) reject when free(cpu) < 2 }
policy two { for pods reject when free(cpu) < 3 }
profile fast { policies one }
"""
WORKLOAD = """\
kind: Pod
apiVersion: v1
metadata: {name: web, labels: {app: web}}
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchFields: [{key: metadata.uid, operator: In, values: [a]}]}]
"""
BROKEN = "policy p { nodeAffinity required disktype Inn (ssd) }\n"


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The current folder, with a file for every command; names are as long as those of clouds."""
    nodes = [clusters.node(NODE.format(n), disk="ssd" if n % 2 else "hdd") for n in range(4)]
    pods = [
        clusters.pod("shop-frontend-5d9c7b6f4-x2x9v", cpu="3", priority=10),
        clusters.pod("shop-frontend-5d9c7b6f4-a1b2c", cpu="3", priority=10),
        clusters.pod("report-of-the-month-28491720-hl7qd", cpu="9"),
        clusters.pod("cache-0", cpu="3", on=NODE.format(1)),
        clusters.pod("cache-1", cpu="3", on=NODE.format(3)),
    ]
    clusters.write(tmp_path, *nodes, *pods)
    (tmp_path / "web.policy").write_text(POLICY)
    (tmp_path / "broken.policy").write_text(BROKEN)
    (tmp_path / "long.policy").write_text(LONG)
    (tmp_path / "unused.policy").write_text(UNUSED)
    (tmp_path / "workload.yaml").write_text(WORKLOAD)
    (tmp_path / "plane.json").write_text(json.dumps(cases.control_plane("3")))
    decisions = {"kept": 1, "limit": 1, "decisions": [test_explain_decisions.CHOSEN]}
    (tmp_path / "decisions.json").write_text(json.dumps(decisions))
    (tmp_path / "tests").mkdir()
    files.write(tmp_path / "tests", "- {name: bad, pod: web, expect: {node: n4}}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


CLUSTER = ("--cluster", "cluster.json", "--policies", "web.policy")
POD = ("pod", "prod/shop-frontend-5d9c7b6f4-x2x9v")
BIG = ("pod", "prod/report-of-the-month-28491720-hl7qd")
SWEEP = ("--to", "web.policy", "--sweep")
REPORTS = [
    pytest.param(("simulate", *CLUSTER, "--deterministic"), id="simulate"),
    pytest.param(("explain", *CLUSTER, "--all"), id="explain-all"),
    pytest.param(("explain", *CLUSTER, *POD), id="explain-pod"),
    pytest.param(("explain", *CLUSTER, *BIG, "--all-nodes"), id="explain-all-nodes"),
    pytest.param(("explain", *CLUSTER, *BIG, "--node", NODE.format(0)), id="explain-node"),
    pytest.param(("explain", "--decisions", "decisions.json", "--all"), id="decisions"),
    pytest.param(("explain", "--cluster", "plane.json", "binding", "--all"), id="explain-bindings"),
    pytest.param(("karmada", "simulate", "--cluster", "plane.json"), id="karmada-simulate"),
    pytest.param(
        ("plan", "--cluster", "cluster.json", "--from", "none", "--to", "web.policy"), id="plan"
    ),
    pytest.param(
        (
            *("plan", "--cluster", "cluster.json", *SWEEP),
            "web-tier-of-the-shop/prefer-nodes-with-many-free-cores.weight=0,50",
        ),
        id="sweep",
    ),
    pytest.param(("test", "tests"), id="test"),
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("columns", [28, 60, 80, 132])
@pytest.mark.parametrize("argv", REPORTS)
def test_nothing_is_wider_than_the_terminal_and_nothing_is_lost(
    argv: tuple[str, ...],
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Long lines and cells are folded; a pipe has them whole, and so has `-o wide`."""
    main.main(argv)
    piped = capsys.readouterr().out
    shown = terminals.without_styles(terminals.run(monkeypatch, columns, *argv))
    assert max(map(len, shown.split("\n"))) <= columns
    missing = Counter("".join(piped.split())) - Counter("".join(shown.split()))
    assert not missing
    wide = terminals.run(monkeypatch, columns, *argv, "-o", "wide")
    assert terminals.without_styles(wide) == piped
    assert max(map(len, piped.split("\n"))) > 60


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("columns", [28, 38, 60])
@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(("check", "long.policy"), id="check"),
        pytest.param(("check", "long.policy", "--format", "concise"), id="check-concise"),
        pytest.param(("lint", "web.policy"), id="lint"),
        pytest.param(("lint", "web.policy", "--format", "concise"), id="lint-concise"),
        pytest.param(("fmt", "long.policy"), id="fmt"),
        pytest.param(("import", "workload.yaml"), id="import"),
        pytest.param(("explain", "rule", "PS203"), id="explain-rule"),
        pytest.param(("explain", "--help"), id="help"),
        pytest.param(
            ("plan", "--cluster", "cluster.json", "--from", "none", "--to", "unused.policy"),
            id="warnings-of-plan",
        ),
        pytest.param(("simulate", "--cluster", "a-file-that-is-not-in-this-folder"), id="error"),
    ],
)
def test_no_finding_warning_or_help_is_wider_than_the_terminal(
    argv: tuple[str, ...],
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They are folded and nothing is lost; a pipe has them whole."""
    main.main(argv)
    piped = "".join(capsys.readouterr())
    assert max(map(len, piped.split("\n"))) > 60
    shown = terminals.run(monkeypatch, columns, *argv, COLUMNS=str(columns))
    shown = terminals.without_styles(shown)
    assert max(map(len, shown.split("\n"))) <= columns
    assert not Counter("".join(piped.split())) - Counter("".join(shown.split()))


def test_marks_stay_below_what_they_mark() -> None:
    """A source line and its marks are cut at the same columns."""
    text = (
        "error[PS001]: `Inn` is not a label operator\n"
        "  --> web.policy:12:27\n"
        "12 | nodeAffinity\trequired disk Inn (ssd)\n"
        "   |            \t              ^^^ did you mean `In`?\n"
        "   | ------------ the statement\n"
        "   = help: operators are In, NotIn"
    )
    assert finding_wrapping.wrap_findings(text, 80) == text
    assert finding_wrapping.wrap_findings(text, 28).split("\n") == [
        "error[PS001]: `Inn` is not",
        "  a label operator",
        "  --> web.policy:12:27",
        "12 | nodeAffinity       requ",
        "   | ------------",
        "   | the statement",
        "   | ired disk Inn (ssd)",
        "   |           ^^^",
        "   | did you mean `In`?",
        "   = help: operators are",
        "     In, NotIn",
    ]


def test_a_mark_behind_the_end_of_a_line_stays_there() -> None:
    """As that of a missing bracket, also behind characters of two columns."""
    text = "error[PS001]: no `)`\n  --> a:1:9\n1 | (\u4e16\u754c\u4e16\u754c\n  |          ^"
    assert finding_wrapping.wrap_findings(text, 12).split("\n")[-3:] == [
        "1 | (\u4e16\u754c\u4e16",
        "  | \u754c",
        "  |   ^",
    ]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "argv",
    [
        *REPORTS,
        pytest.param(("check", "broken.policy"), id="check"),
        pytest.param(("check", "broken.policy", "--format", "concise"), id="concise"),
        pytest.param(("lint", "web.policy"), id="lint"),
        pytest.param(("fmt", "broken.policy"), id="fmt"),
        pytest.param(("fmt", "--diff", "-"), id="no-file"),
        pytest.param(("migrate", "--diff", "web.policy"), id="diff"),
        pytest.param(("ast", "broken.policy"), id="ast"),
        pytest.param(("simulate", "--cluster", "nowhere.json"), id="error"),
    ],
)
def test_a_terminal_gets_colours(argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR, CLICOLOR=0 and TERM=dumb turn them off, and change nothing else."""
    coloured = terminals.run(monkeypatch, 100, *argv)
    assert "\x1b[" in coloured
    for environment in ({"NO_COLOR": "1"}, {"CLICOLOR": "0"}, {"TERM": "dumb"}):
        plain = terminals.run(monkeypatch, 100, *argv, **environment)
        assert plain == terminals.without_styles(coloured)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("variable", ["FORCE_COLOR", "CLICOLOR_FORCE"])
def test_colours_can_be_asked_for_in_pipes(
    variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As CI servers do; tables stay as wide as they are, and JSON is never coloured."""
    argv = ["simulate", *CLUSTER, "--deterministic"]
    main.main(argv)
    plain = capsys.readouterr().out
    monkeypatch.setenv(variable, "1")
    main.main(argv)
    coloured = capsys.readouterr().out
    assert coloured != plain == terminals.without_styles(coloured)
    main.main([*argv, "-o", "json"])
    assert json.loads(capsys.readouterr().out)["placements"]
    main.main(["test", "--format", "junit", "tests"])
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_columns_overrides_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable says how wide a terminal is that lies about it."""
    argv = ("simulate", *CLUSTER, "--deterministic")
    shown = terminals.without_styles(terminals.run(monkeypatch, 200, *argv, COLUMNS="60"))
    assert max(map(len, shown.split("\n"))) <= 60


@pytest.mark.usefixtures("folder")
def test_junit_is_not_folded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A document is the same on a terminal and in a pipe."""
    argv = ("test", "--format", "junit", "tests")
    main.main(argv)
    assert terminals.run(monkeypatch, 40, *argv) == capsys.readouterr().out


# --- tables --------------------------------------------------------------------------------------

_CELLS = st.text(alphabet="abcXYZ019 -/.,:=_äß漢字", max_size=60)


@given(
    rows=st.lists(st.lists(_CELLS, min_size=3, max_size=3), min_size=1, max_size=4),
    room=st.integers(min_value=12, max_value=120),
)
def test_any_table_fits(rows: list[list[str]], room: int) -> None:
    """Whatever is in it, no line is longer and no sign but blanks is lost."""
    shown = tables.format_table(("POD", "NODE", "WHY NOT"), rows, "  ", room, ())
    assert all(wrapping.count_text_columns(line) <= room for line in shown.split("\n"))
    told = Counter("".join(cell for row in rows for cell in row).replace(" ", ""))
    assert not told - Counter(shown)


def test_a_table_is_folded_at_blanks_and_signs() -> None:
    """Names are broken where people read them: behind a sign, before a capital."""
    rows = [("NodeResourcesBalancedAllocation", "node(s) had a taint", "prod/web-1")]
    shown = tables.format_table(("RULE", "REASON", "POD"), rows, "", 36, ())
    assert styles.remove_style_marks(shown).split("\n") == [
        "RULE         REASON       POD",
        "Node         node(s) had  prod/web-1",
        "Resources    a taint",
        "Balanced",
        "Allocation",
    ]


# --- control characters --------------------------------------------------------------------------

HOSTILE = "x\x1b[2J\x1b]0;owned\x07\x9b31m\u202etxt\r\ny"
_RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


def _hostile_cluster(folder: pathlib.Path) -> str:
    node = clusters.node("n" + HOSTILE)
    taint = {"key": "k" + HOSTILE, "value": HOSTILE, "effect": "NoSchedule"}
    tainted: dict[str, Any] = {**clusters.node("t"), "spec": {"taints": [taint]}}
    pods = [
        clusters.pod("p" + HOSTILE, cpu="3", priority=5),
        clusters.pod("v" + HOSTILE, cpu="3", on="n" + HOSTILE),
        clusters.pod("s", schedulerName="other" + HOSTILE),
        clusters.pod("q", schedulingGates=[{"name": HOSTILE}]),
    ]
    return clusters.write(folder, node, tainted, *pods)


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(("simulate",), id="simulate"),
        pytest.param(("simulate", "-o", "wide"), id="wide"),
        pytest.param(("simulate", "-o", "json"), id="json"),
        pytest.param(("explain", "--all"), id="explain"),
        pytest.param(("explain", "--all", "-o", "json"), id="explain-json"),
        pytest.param(("explain", "pod", f"prod/p{HOSTILE}"), id="explain-pod"),
        pytest.param(("explain", "pod", f"prod/{HOSTILE}"), id="no-such-pod"),
        pytest.param(("plan", "--from", "none", "--to", "none"), id="plan"),
        pytest.param(("simulate", "--scheduler-name", HOSTILE), id="argument"),
    ],
)
def test_control_characters_of_a_cluster_stay_out(
    argv: tuple[str, ...],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Names, taints and gates are printed with escapes, in pipes and on terminals."""
    argv = (*argv, "--cluster", _hostile_cluster(tmp_path))
    main.main(argv)
    said = capsys.readouterr()
    assert said.out + said.err
    assert not _RAW.search(said.out + said.err)
    shown = terminals.run(monkeypatch, 100, *argv)
    assert not _RAW.search(terminals.without_styles(shown))


def test_escaped_json_means_the_same(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program reads the very names."""
    name = "p\x1b\x9b\u202e\ufdd1"
    cluster = clusters.write(tmp_path, clusters.node("n"), clusters.pod(name))
    main.main(["simulate", "--cluster", cluster, "-o", "json"])
    (placement,) = json.loads(capsys.readouterr().out)["placements"]
    assert placement["pod"] == f"prod/{name}"


def test_a_row_stays_a_row(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line end in a name does not forge a line of a table."""
    pod = clusters.pod("a\nprod/b  n1  3")
    main.main(["simulate", "--cluster", clusters.write(tmp_path, clusters.node("n"), pod)])
    assert "\nprod/a\\nprod/b  n1  3  n " in capsys.readouterr().out


def test_source_text_reaches_pipes_as_it_is_and_terminals_without_control_characters(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A diff is for `patch`; `--from-json` prints comments of others."""
    path = tmp_path / "a.policy"
    path.write_text("# \u202e comment\r\npolicy a {\r\n}\r\n", newline="")
    main.main(["migrate", "--diff", str(path)])
    assert " policy a {\r\n" in capsys.readouterr().out
    shown = terminals.run(monkeypatch, 80, "migrate", "--diff", str(path))
    assert not _RAW.search(terminals.without_styles(shown))
