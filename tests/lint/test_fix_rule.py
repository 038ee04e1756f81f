"""The rule of fixes: one is safe only if the text that it replaces has exactly one reading."""

from __future__ import annotations

import ast
import pathlib
import re
import sys
from collections.abc import Iterator

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.language_server.features import actions
from policysched.language_server.project import programs
from policysched.lint import fixing, settings
from tests.lint import cases

PACKAGE = pathlib.Path(diagnostics.__file__).parents[1]
ACTION = re.compile(
    r"(Replace `.+` with `.+`|Insert `.+`|Remove `.+`|Format this text)\Z", re.DOTALL
)
METRIC = "metric m: ratio = `x` node n missing allow missing score 0\n"
MAKERS = {"Fix", "replacement", "respelt", "_replacement", "_quotes", "_moved", "_translate_word"}
"""Functions that make a fix."""


def pods(rest: str) -> str:
    """Return a policy about all pods."""
    return f"{METRIC}policy a {{\n  for pods\n  {rest}\n}}\n"


SAFE = {
    "an operator with a doubled letter": (
        "policy a {\n  for pods where app Inn (web)\n}\n",
        "Replace `Inn` with `In`",
    ),
    "a long keyword": (pods("tolerat x"), "Replace `tolerat` with `tolerate`"),
    "a doubled letter": (
        pods("nodeAfinity required a Exists"),
        "Replace `nodeAfinity` with `nodeAffinity`",
    ),
    "case": (pods("nodeaffinity required a Exists"), "Replace `nodeaffinity` with `nodeAffinity`"),
    "a word of a few": (pods("mode enforced"), "Replace `enforced` with `enforce`"),
    "a taint effect": (pods("tolerate x:NoSchedul"), "Replace `NoSchedul` with `NoSchedule`"),
    "a list of one": (pods("nodeAffinity required a In b"), "Replace `In b` with `In (b)`"),
    "and": (pods("nodeAffinity required a = b && c = d"), "Replace `&&` with `and`"),
    "or": (pods("nodeAffinity required a = b || c = d"), "Replace `||` with `or`"),
    "not": (pods("nodeAffinity required !(a = b)"), "Replace `!` with `not`"),
    "not in parentheses": (
        pods("nodeAffinity required (!(a = b))"),
        "Replace `!` with `not`",
    ),
    "an end mark": (pods("tolerate x;"), "Remove `;`"),
    "a colon of YAML": (
        pods("nodeAffinity preferred a = b weight: 5"),
        "Replace `weight:` with `weight`",
    ),
    "an image": (
        "policy a {\n  for pods where image = repo:5000/nginx:1.25\n}\n",
        'Replace `repo:5000/nginx:1.25` with `"repo:5000/nginx:1.25"`',
    ),
    "a resource": (
        pods("reject when free(nvidia.com/gpu) = 1"),
        'Replace `nvidia.com/gpu` with `"nvidia.com/gpu"`',
    ),
    "a resource among others": (
        pods("score LeastAllocated(cpu: 1, nvidia.com/gpu: 2) weight 5"),
        'Replace `nvidia.com/gpu` with `"nvidia.com/gpu"`',
    ),
    "a word of manifests": (
        pods("nodeAffinity requiredDuringSchedulingIgnoredDuringExecution: a = b"),
        "Replace `requiredDuringSchedulingIgnoredDuringExecution:` with `required`",
    ),
    "a statement of manifests": (pods("tolerations x"), "Replace `tolerations` with `tolerate`"),
    "a selector of manifests": (
        pods("podAffinity required labelSelector app = web topologyKey zone"),
        "Replace `labelSelector` with `pods where`",
    ),
}
"""Every kind of replacement of `check` that has one reading; all of them were read by a person."""

UNSAFE = {
    "Ge": (pods("nodeAffinity required cores Ge 5"), "Replace `Ge` with `>=`"),
    "Le": (pods("nodeAffinity required cores Le 5"), "Replace `Le` with `<=`"),
    "asc": (pods("score m asc"), "Replace `asc` with `prefer low`"),
    "a short operator": (pods("nodeAffinity required a exist"), "Replace `exist` with `Exists`"),
    "a word of another place": (
        pods("podAffinity required self namespace (x) topologyKey zone"),
        "Replace `namespace` with `namespaces`",
    ),
    "a short unit": ("metric m: ratios = `x` node n\n", "Replace `ratios` with `ratio`"),
    "a comma": (pods("nodeAffinity required a = b, c = d"), "Replace `,` with `and`"),
    "a requirement on the next line": (
        pods("nodeAffinity required a = b\n  c = d"),
        "Replace `c` with `and c`",
    ),
    "a label without a value": (
        "policy p {\n  for pods\n  nodeAffinity required a = null\n}\n",
        "Replace `a = null` with `a DoesNotExist`",
    ),
    "a kind that controls no pod": (
        "policy p {\n  for pods where ownerKind = Deployment\n  reject when free(cpu) < 2\n}\n",
        "Replace `Deployment` with `ReplicaSet`",
    ),
    "a date behind until": (
        "metric m: ratio = `x` node n\n"
        + pods('reject when m > 80% until "2099-01-01" missing allow'),
        'Replace `until "2099-01-01"` with `expires "2099-01-01"`',
    ),
    "an open parenthesis": (pods("reject when (free(cpu) < 2"), "Insert `)`"),
    "a dangling comma": (pods("nodeAffinity required a = b,\n  tolerate x"), "Remove `,`"),
    "several values": (
        pods("nodeAffinity required a In b, c"),
        "Replace `In b, c` with `In (b, c)`",
    ),
    "mixed connectives": (
        pods("nodeAffinity required a = b and c = d or e = f"),
        "Replace `a = b and c = d` with `(a = b and c = d)`",
    ),
    "not without parentheses": (
        pods("nodeAffinity required !disk Exists"),
        "Replace `!` with `not`",
    ),
    "a word that was to be required always": (
        pods("nodeAffinity requiredDuringSchedulingRequiredDuringExecution a = b"),
        "Replace `requiredDuringSchedulingRequiredDuringExecution` with `required`",
    ),
    "a label called as a word of manifests": (
        "policy a {\n  for pods where preference high\n}\n",
        "Remove `preference`",
    ),
    "a name of nodes in a manifest": (
        pods("nodeAffinity required matchFields: metadata.name In (b)"),
        "Remove `matchFields:`",
    ),
    "a division": (pods("reject when min(a.b/c, 2) > 1"), 'Replace `a.b/c` with `"a.b/c"`'),
    "a key named like a field": (
        "policy a {\n  for pods\n  nodeAffinity required name = b\n}\n",
        "Replace `name` with `nodeName`",
    ),
    "a statement of manifests with more to mend": (
        pods("nodeSelector { disk: ssd }"),
        "Replace `nodeSelector` with `nodeAffinity required`",
    ),
    "a clause with more to mend": (
        pods("score free(cpu) prefer high weight: 5,"),
        "Replace `weight:` with `weight`",
    ),
    "a condition compared with a truth": (
        pods("reject when node(a = b) == false"),
        "Replace `node(a = b) == false` with `not node(a = b)`",
    ),
    "an amount without parentheses": (
        pods("reject when freecpu < 2"),
        "Replace `freecpu` with `free(cpu)`",
    ),
    "a leading zero": (
        "policy a {\n  for pods\n  reject when free(cpu) < 010\n}\n",
        "Replace `010` with `10`",
    ),
    "a name that is no resource": (
        pods("reject when free(gpu.nvidia.com) < 1"),
        'Replace `gpu.nvidia.com` with `"gpu.nvidia.com"`',
    ),
    "a comment": (pods("// all pods"), "Replace `//` with `#`"),
    "a share": (pods("reject when m > 80"), "Replace `80` with `80%`"),
    "a fraction": (pods("nodeAffinity required a Lt 7.5"), "Replace `7.5` with `8`"),
    "a name": (
        "let hot = 5\npolicy a {\n  for pods\n  reject when free(cpu) > hat\n}\n",
        "Replace `hat` with `hot`",
    ),
    "a unit": (pods("reject when free(memory) < 4GiB"), "Replace `4GiB` with `4Gi`"),
    "a topology": (
        pods("podAntiAffinity required self"),
        "Insert `topologyKey kubernetes.io/hostname`",
    ),
    "missing data": (pods("reject when label(x) > 8"), "Insert `missing allow`"),
    "a weight": (pods("nodeAffinity required a Exists weight 5"), "Remove `weight 5`"),
    "a query": ("metric m: ratio = `avg(x)` node n missing allow\n", "Insert `by (n)`"),
    "a block comment": (
        "policy a {\n  for pods /* all */\n  tolerate x\n}\n",
        "Replace `/* all */` with `# all`",
    ),
    "a function": (pods("reject when available(cpu) < 2"), "Replace `available` with `free`"),
    "a function that is a selector": (
        pods("reject when has(disk)"),
        "Replace `has(disk)` with `node(disk Exists)`",
    ),
    "a control character": (pods('tolerate x\n  owner "a\x07"'), "Remove U+0007 BELL"),
    "a bidirectional character": (
        'policy a {\n  for pods\n  tolerate x\n  owner "a\u202e"\n}\n',
        "Remove U+202E RIGHT-TO-LEFT OVERRIDE",
    ),
    "a letter of another alphabet": (
        pods("nodeAffinity required disk = s\u043elid"),
        "Replace U+043E CYRILLIC SMALL LETTER O with `solid`",
    ),
    "a no-break space": (
        pods("reject when\u00a0free(cpu) < 2"),
        "Replace U+00A0 NO-BREAK SPACE with a space",
    ),
    "a label": (pods("reject when disk = hdd"), "Replace `disk = hdd` with `node(disk = hdd)`"),
    "a mark behind a name": (pods("reject when free(cpu) < 2 as web!"), "Remove `!`"),
    "a rate": (
        pods("reject when rate(m[5m]) > 1"),
        "Replace `rate(m[5m])` with `m`",
    ),
    "a hyphen": (
        METRIC.replace(" m:", " cpu_busy:")
        + "policy a {\n  for pods\n  reject when cpu-busy > 80%\n}\n",
        "Replace `cpu-busy` with `cpu_busy`",
    ),
    "joined values": (
        pods("nodeAffinity required disk = ssd or nvme"),
        "Replace `disk = ssd or nvme` with `disk In (ssd, nvme)`",
    ),
    "a value of a taint": (
        pods("tolerate dedicated:web"),
        "Replace `dedicated:web` with `dedicated=web`",
    ),
    "a weight that is too high": (
        pods("nodeAffinity preferred a Exists weight 500"),
        "Replace `500` with `100`",
    ),
    "names in one value": (
        pods('nodeAffinity required nodeName = "a, b"'),
        'Replace `nodeName = "a, b"` with `nodeName In (a, b)`',
    ),
    "a name of upper case": (pods("reject when free(cpu) < 2 as Web"), "Replace `Web` with `web`"),
    "a Grafana variable": (
        "metric m: ratio = `rate(x[$__rate_interval])` node n\n",
        "Replace `$__rate_interval` with `5m`",
    ),
    "an open block": ("policy a {\n  for pods\n", "Insert `}`"),
}
"""What `check` suggests: a guess, a choice, or another meaning."""

SAFE_RULES = {"PS203", "PS215", "PS311", "PS407", "PS802", "PS803"}
"""Rules of lint whose fixes keep every decision."""
ANCHORS = METRIC.replace("`x`", '`x{job=~"^a.c$"}`')
"""What PS407 mends besides the examples of its page."""


def found(text: str) -> tuple[checker.CheckResult, list[diagnostics.Fix]]:
    """Return what check says of a text, and its fixes."""
    result = checker.check([source.SourceText("x.policy", text)])
    return result, [each.fix for each in result.diagnostics if each.fix is not None]


@pytest.mark.parametrize("text, title", SAFE.values(), ids=SAFE.keys())
def test_a_safe_fix_of_check_leads_to_a_text_that_compiles(text: str, title: str) -> None:
    """Its one reading is the one that was reviewed, and the text has no errors with it."""
    result, (fix,) = found(text)
    assert (fixes.make_fix_title(fix, result.texts), fix.safe) == (title, True)
    fixed = fixing.apply_text_edits(text, fix.edits)
    assert checker.check([source.SourceText("x.policy", fixed)]).program is not None


@pytest.mark.parametrize("text, title", UNSAFE.values(), ids=UNSAFE.keys())
def test_what_has_several_readings_is_never_applied_unasked(text: str, title: str) -> None:
    """Neither `lint --fix` nor an editor that saves changes the text; the title says the edit."""
    result, (fix,) = found(text)
    assert (fixes.make_fix_title(fix, result.texts), fix.safe) == (title, False)
    given = source.SourceText("x.policy", text)
    assert fixing.apply_fixes([given], {}, settings.LintSettings(), also_unsafe=False) == [given]
    program = programs.PolicyProgram((given,))
    assert list(actions.make_fix_all_actions(program, "x.policy")) == []
    (offered, *_) = actions.list_code_actions(program, "x.policy", 0, len(text))
    assert offered.title.startswith(title)
    assert "unsafe" in offered.title


@pytest.mark.parametrize("code", cases.CODES)
def test_safe_fixes_of_lint_are_those_that_were_reviewed(code: str) -> None:
    """Only rules about what says nothing have them; a fix is an action in words of the text."""
    text = cases.text(code, "failing.policy") + (ANCHORS if code == "PS407" else "")
    result = cases.checked(text)
    chosen = settings.LintSettings(select=(code,) if code != "PS803" else ())
    for finding in cases.lint(code, text, chosen):
        if finding.fix is not None and finding.code == code:
            assert ACTION.match(fixes.make_fix_title(finding.fix, result.texts))
            assert finding.fix.safe is (code in SAFE_RULES)


def test_a_misspelt_or_misplaced_ignore_is_not_removed_unasked() -> None:
    """Such a comment was meant for something: the code is unknown, or its finding is elsewhere."""
    text = pods("tolerate x  # policysched: ignore[PS2O8] why\n  nodeAffinity required p != q")
    for wrong in (text, text.replace("PS2O8", "PS208")):
        (finding,) = cases.lint("PS803", wrong, settings.LintSettings(select=("PS803", "PS208")))[
            :1
        ]
        assert finding.code == "PS803"
        assert finding.fix is not None
        assert not finding.fix.safe


def makers() -> Iterator[tuple[str, str]]:
    """Yield the file and name of every function that makes a fix."""
    for file in sorted(PACKAGE.glob("l*/**/*.py")):
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                calls = [each for each in ast.walk(function) if isinstance(each, ast.Call)]
                names = {getattr(each.func, "attr", getattr(each.func, "id", "")) for each in calls}
                if names & MAKERS:
                    yield str(file), function.name


def test_the_tables_have_every_place_that_makes_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fix that no table knows has not been reviewed."""
    seen: set[tuple[str, str]] = set()
    make = diagnostics.Fix.__init__

    def record(self: diagnostics.Fix, *args: object, **named: object) -> None:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(str(PACKAGE)):
            seen.add((frame.f_code.co_filename, frame.f_code.co_name))
            frame = frame.f_back
        make(self, *args, **named)  # type: ignore[arg-type] # as they were given

    monkeypatch.setattr(diagnostics.Fix, "__init__", record)
    for text, _ in (*SAFE.values(), *UNSAFE.values()):
        found(text)
    for code in cases.CODES:
        test_safe_fixes_of_lint_are_those_that_were_reviewed(code)
    assert set(makers()) - seen == set()
