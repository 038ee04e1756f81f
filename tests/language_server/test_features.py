"""What the features say about texts, without a server."""

from __future__ import annotations

import itertools
import pathlib

import pytest

from policysched import clock as clocks
from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lang.words import syntax_words
from policysched.language_server import protocol_conversion
from policysched.language_server.features import (
    actions,
    completion,
    formatting,
    hover,
    outline,
    renaming,
    selector_matches,
    semantic_highlighting,
)
from policysched.language_server.project import cluster_data, editor_settings, programs
from policysched.language_server.texts import documents
from policysched.language_server.words import names, vocabulary, word_docs
from policysched.lint import fixing, linter, settings
from tests.language_server import asking

CLUSTER = pathlib.Path(__file__).parents[1] / "lint" / "cluster.yaml"
METRICS = """\
param range: duration = 5m
let hot = 80%
let pool_web = { pool In (web) }
metric cpu_busy: ratio = `1 - avg by (instance) (rate(cpu_total[$range]))`
  node instance  refresh 15s  maxAge 2m
"""
WEB = """\
import "metrics.policy"
policy web {
  description "web"
  owner "team"
  for pods where app = web
  nodeAffinity required pool_web
  reject when cpu_busy > hot missing allow as too-hot
  score cpu_busy prefer low missing score 50 weight 7 as cool
}
policy batch {
  description "batch"
  owner "team"
  for pods where app = batch
  disable web.too-hot
}
profile policysched { policies web, batch param range = 10m }
"""


def program(
    *texts: str, known: programs.ProgramEnvironment | None = None
) -> programs.PolicyProgram:
    """Return texts as one program; the first is called `0.policy`, unless it is METRICS."""
    named = tuple(
        source.SourceText("metrics.policy" if text is METRICS else f"{index}.policy", text)
        for index, text in enumerate(texts)
    )
    return programs.PolicyProgram(named, known=known or programs.ProgramEnvironment())


def proposed(marked: str, *others: str) -> list[str]:
    """Return what is proposed at the `|` of a text."""
    about = program(marked.replace("|", "", 1), *others)
    found = completion.propose_completions(about, "0.policy", marked.index("|"))
    return [each.text for each in found.items]


def inside(statement: str) -> str:
    """Return a policy with one statement."""
    return f"policy p {{\n  for pods where app = web\n  {statement}\n}}\n"


# ---------------------------------------------------------------------------- completion


@pytest.mark.parametrize(
    "marked, expected, not_expected",
    [
        ("|", {"policy", "metric", "profile"}, {"score", "weight"}),
        (inside("|"), {"nodeAffinity", "reject", "tolerate"}, {"policy", "weight"}),
        (inside("nodeAff|"), {"nodeAffinity"}, {"policy"}),
        (inside("nodeAffinity |"), {"required", "preferred"}, {"In"}),
        (inside("nodeAffinity required zone |"), {"In", "NotIn", "Gt"}, {"weight", "maxSkew"}),
        (inside("nodeAffinity required a In (x) |"), {"and", "as", "message"}, {"weight", "score"}),
        (inside("nodeAffinity preferred a In (x) |"), {"weight"}, {"message", "topologyKey"}),
        (inside("nodeAffinity preferred a In (x) weight 5 |"), {"as"}, {"weight"}),
        (inside("topologySpread self |"), {"topologyKey", "maxSkew"}, {"prefer"}),
        (inside("topologySpread self topologyKey |"), {"topology.kubernetes.io/zone"}, {"In"}),
        (inside("topologySpread self whenUnsatisfiable |"), {"DoNotSchedule"}, {"as"}),
        (inside("reject when free(|) > 1"), {"cpu", "memory"}, {"score"}),
        (inside("reject when node(|) missing allow"), {"nodeName"}, {"hot"}),
        (inside("reject when pod(|) missing allow"), {"priority", "image"}, {"nodeName"}),
        (inside("reject when |"), {"waiting", "podAge", "nodeAge", "priority"}, {"weight"}),
        ("clusterPolicy p { for resources reject when | }", {"free"}, {"waiting", "devices"}),
        ("metric m: ratio = `x` placed adds |", {"requests"}, {"freeDevices"}),
        (inside("reject when x > 5 missing |"), {"allow", "reject"}, {"weight"}),
        (inside("|"), {"preempt", "protect"}, {"preemption", "never"}),
        (inside("preempt |"), {"never", "pods", "self"}, {"as"}),
        (inside("preempt never |"), {"as", "during"}, {"message", "weight"}),
        (inside("preempt pods |"), {"where", "namespaces"}, {"topologyKey"}),
        (inside("protect |"), {"from"}, {"as"}),
        (inside("protect from |"), {"preemption"}, {"as"}),
        (inside("protect from preemption |"), {"as", "during"}, {"never", "message"}),
        (inside("reject when count(self) > 3 preemption |"), {"never"}, {"as"}),
        (inside("score |"), {"LeastAllocated", "min"}, {"nodeAffinity"}),
        (inside("score LeastAllocated(cpu: 1) |"), {"weight"}, {"prefer", "normalize"}),
        (inside("score x prefer low normalize |"), {"minmax", "linear"}, {"as"}),
        (inside("tolerate a:|"), {"NoSchedule"}, {"as"}),
        (inside("podAffinity required pods where | topologyKey x"), {"app"}, {"nodeName"}),
        (inside("nodeAffinity required mode |"), {"In", "Exists"}, {"enforce"}),
        ("policy |", set(), {"policy", "metric"}),
        (inside("broken words\n  tolerate x |"), {"as", "Exists"}, {"weight"}),
        ("metric m: |", {"ratio", "bytes"}, {"duration"}),
        ("param p: |", {"ratio", "duration"}, {"policy"}),
        ("metric m: ratio = `ra|`", {"rate", "avg", "by"}, {"policy"}),
        ("let a = 5\nlet b = |", {"a", "min"}, {"policy"}),
        ("let g = { | }", {"nodeName", "image"}, {"weight"}),
        ("policy a {}\nprofile x { policies | }", {"a"}, {"weight"}),
        ("version |", {"1", "2"}, {"policy"}),
        (
            "policy a { profiles all }\npolicy b {}\nprofile x { exclude | }",
            {"a"},
            {"b", "weight"},
        ),
        ("policy a {}\nprofile x { | }", {"policies", "plugin", "onOutage"}, {"reject"}),
        ("# policysched: ignore[|", {"PS208", "PS801"}, {"policy"}),
        ("# any words |", set(), {"policy", "PS208"}),
    ],
)
def test_completion_fits_the_place(marked: str, expected: set[str], not_expected: set[str]) -> None:
    """What is proposed can stand there, in a sound text and a broken one."""
    found = set(proposed(marked))
    assert expected <= found
    assert not found & not_expected


@pytest.mark.parametrize(
    "marked, expected",
    [
        (inside("nodeAffinity required |"), "pool_web"),
        (inside("reject when |"), "cpu_busy"),
        ("policy b {\n  disable |\n}\n" + inside("reject when x as too-hot"), "p.too-hot"),
        ('import "|"', "metrics.policy"),
        ("metric m: ratio = `rate(x[$|])`", "$range"),
        ("metric m: ratio = `|`", "cpu_total"),
    ],
)
def test_completion_knows_names(marked: str, expected: str) -> None:
    """Names of this text and of others of the program are proposed."""
    assert expected in proposed(marked, METRICS)


def test_what_is_proposed_replaces_the_word() -> None:
    """The stretch that a proposal replaces is the whole word around the cursor."""
    text = inside("nodeAffinity required topology.kub/zo In (a)")
    offset = text.index("kub")
    found = completion.propose_completions(program(text), "0.policy", offset)
    assert text[found.start : found.end] == "topology.kub/zo"
    text = inside("reject when a-bcd > 5")
    found = completion.propose_completions(program(text), "0.policy", text.index("cd"))
    assert text[found.start : found.end] == "bcd"


def test_every_keyword_is_explained() -> None:
    """Each word of the grammar has a sentence, for hover and completion."""
    words = {word for table in syntax_words.KEYWORDS.values() for word in table}
    assert {word for word in words if not word_docs.describe_word(word)} == set()


# ---------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    "name, new, count",
    [
        ("hot", "warm", 2),
        ("cpu_busy", "busy", 3),
        ("pool_web", "web_pool", 2),
        ("range", "window", 3),
        ("web {", "edge", 3),
        ("too-hot", "hot-node", 2),
    ],
)
def test_a_rename_changes_all_places_and_nothing_else(name: str, new: str, count: int) -> None:
    """In queries, profiles, `disable` and other files; the program stays sound."""
    about = program(METRICS, WEB)
    word = name.split(maxsplit=1)[0]
    text = METRICS if word in METRICS and word != "web" else WEB
    where = "metrics.policy" if text is METRICS else "1.policy"
    marked = f"policy {name}" if name == "web {" else name
    offset = text.index(marked) + marked.index(word)
    edits = renaming.rename_symbol(about, where, offset, new)
    assert not isinstance(edits, renaming.RenameRefusal), edits
    assert len(edits) == count
    renamed = [
        source.SourceText(
            t.name, fixing.apply_text_edits(t.text, [e for e in edits if e.span.file == t.name])
        )
        for t in about.texts
    ]
    assert checker.check(renamed).program is not None
    assert about.check_result.program is not None


def test_a_param_is_renamed_in_selectors() -> None:
    """`$` stays in front of it; a string with the same text is no param."""
    text = (
        'param pools: strings = "a, b"\n'
        'policy p { for pods in namespace ($pools) where x In ($pools, "pools") }\n'
    )
    about = program(text)
    edits = renaming.rename_symbol(about, "0.policy", text.index("$pools") + 2, "places")
    assert not isinstance(edits, renaming.RenameRefusal), edits
    assert fixing.apply_text_edits(text, edits) == (
        text.replace("$pools", "$places").replace("param pools", "param places")
    )


@pytest.mark.parametrize(
    "new, reason",
    [
        ("a-b", "is not a name"),
        ("node", "is a reserved word of expressions"),
        ("hot", "is defined twice"),
        ("", "is not a name"),
    ],
)
def test_a_rename_that_would_break_is_refused(new: str, reason: str) -> None:
    """With the reason, and without an edit."""
    found = renaming.rename_symbol(
        program(METRICS, WEB), "metrics.policy", METRICS.index("cpu_busy"), new
    )
    assert isinstance(found, renaming.RenameRefusal)
    assert reason in found.reason


def test_nothing_is_renamed_while_a_statement_cannot_be_read() -> None:
    """The name might be used there."""
    broken = WEB.replace("weight 7", "weight (")
    found = renaming.rename_symbol(
        program(METRICS, broken), "metrics.policy", METRICS.index("hot"), "x"
    )
    assert isinstance(found, renaming.RenameRefusal)
    assert "cannot be parsed" in found.reason


def test_resources_and_labels_are_no_names() -> None:
    """`memory` of `free(memory)` is not the let of that name, nor is a class or a capacity."""
    condition = "free(memory) < memory * 1Gi or devices(memory) > 3"
    text = "let memory = 5\n" + inside(f"reject when {condition} missing allow")
    about = program(text)
    [_, use] = about.name_index.find_occurrences(names.NamedSymbol("let", "memory"))
    assert text[: use.span.start].endswith("< ")


# ---------------------------------------------------------------------------- hover


@pytest.mark.parametrize(
    "marked, expected",
    [
        ("reject when freeDevices(|gpu) < 1", "`gpu`: DeviceClass."),
        ("reject when freeDevices(|tpu) < 1", "`tpu`: the cluster has no such DeviceClass"),
        ('score deviceCapacity(|"gpu.example.com/memory") prefer low', "Values: 40Gi"),
        ("score deviceAttribute(|numa) prefer low", "`numa`: attribute of devices. Values: 0"),
    ],
)
def test_hover_knows_devices(marked: str, expected: str, tmp_path: pathlib.Path) -> None:
    """What the cluster says of classes, attributes and capacities."""
    (path := tmp_path / "nodes.yaml").write_text(FACTS)
    wanted = editor_settings.EditorSettings(cluster=str(path))
    loaded = cluster_data.load_cluster_data(wanted, tmp_path)
    text = inside(marked)
    about = program(text.replace("|", "", 1), known=programs.ProgramEnvironment(words=loaded.words))
    found = hover.build_hover(about, "0.policy", text.index("|"))
    assert found is not None
    assert expected in found.markdown


@pytest.mark.parametrize(
    "marked, expected",
    [
        (inside("nodeAffinity required pool |NotIn (a)"), "Also matches if the label is absent"),
        (inside("nodeAffinity required pool |!= a"), "Also matches if the label is absent"),
        (inside("nodeAffinity required cores |Gt 5"), "decimal int64"),
        (inside("|tolerate a"), "tolerate"),
        (inside("reject when x > 5 missing |reject"), "rejected"),
        (inside("score |min(1, 2)"), "smallest"),
        (inside("score |freeDevices(gpu) prefer low"), "devices that a claim could get now"),
        (inside("nodeAffinity required |condition(Ready) = True"), "True, False or Unknown"),
        (inside("reject when |waiting < 10m"), "time since the pod was first tried"),
        (inside("reject when |nodeAge < 10m"), "creation of the node"),
        ("# policysched: ignore[|PS208] spot", "# PS208: NotIn"),
        ("# policysched: ignore[|PS304] spot", "# PS304"),
        ("metric m: ratio = `|rate(x[5m])`", "growth of a counter"),
    ],
)
def test_hover_explains_words(marked: str, expected: str) -> None:
    """Operators, statements, functions, and pages of codes."""
    about = program(marked.replace("|", "", 1))
    found = hover.build_hover(about, "0.policy", marked.index("|"))
    assert found is not None
    assert expected in found.markdown


def test_every_code_has_a_page() -> None:
    """Hover shows for each code what `explain rule` shows."""
    codes = diagnostics.CODES | diagnostics.LINT_CODES
    assert [
        code for code in codes if not hover.read_diagnostic_page(code).startswith(f"# {code}")
    ] == []


def test_hover_tells_the_unit_of_a_metric_and_the_value_of_a_let() -> None:
    """With where it is used, and how it is defined."""
    about = program(METRICS, WEB)
    metric = hover.build_hover(about, "1.policy", WEB.index("cpu_busy"))
    assert metric is not None
    assert "in ratio, every 15 s, missing when older than 120 s, used 2 times" in metric.markdown
    let = hover.build_hover(about, "1.policy", WEB.index("hot"))
    assert let is not None
    assert "let hot = 80%" in let.markdown


# ---------------------------------------------------------------------------- with a cluster


@pytest.fixture(scope="module")
def known() -> programs.ProgramEnvironment:
    """The cluster of the lint tests: three nodes, two of them in the pool `web`."""
    wanted = editor_settings.EditorSettings(cluster=str(CLUSTER))
    loaded = cluster_data.load_cluster_data(wanted, pathlib.Path("/"))
    assert loaded.problems == ()
    facts = cluster_data.make_cluster_facts(loaded, frozenset(), clocks.SystemClock().now())
    return programs.ProgramEnvironment(facts, loaded.words)


def test_counts_are_those_of_the_cluster(known: programs.ProgramEnvironment) -> None:
    """Nodes and pods of the cluster, by policy, by affinity and by requirement."""
    about = program(METRICS, WEB, known=known)
    texts = [note.text for note in selector_matches.list_match_count_notes(about, "1.policy")]
    assert texts == ["1/2 pods, matches 2/3 nodes", "matches 2/3 nodes", "0/2 pods"]
    found = hover.build_hover(about, "metrics.policy", METRICS.index("In (web)"))
    assert found is not None
    assert "`pool In (web)`: matches 2 of 3 nodes" in found.markdown


def test_lint_compares_with_the_cluster(known: programs.ProgramEnvironment) -> None:
    """Findings of the cluster tier are told too, as `lint --cluster` tells them."""
    text = inside("nodeAffinity required zome In (a)")
    about = program(text, known=known)
    assert "PS502" in {each.code for each in about.lint_result.findings}


FACTS = """
apiVersion: v1
kind: Node
metadata: {name: n1, annotations: {example.com/rack: r1, note: a b}}
status:
  conditions: [{type: GpuHealthy, status: "True"}]
  nodeInfo: {kubeletVersion: v1.30.2-gke.100}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec: {storageClassName: local-ssd, resources: {requests: {storage: 1Gi}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: network}
provisioner: example.com/disks
---
apiVersion: v1
kind: Pod
metadata:
  name: web-1
  namespace: shop
  ownerReferences:
  - {apiVersion: batch/v1, kind: Job, name: ingest-28, uid: u, controller: true}
spec: {}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {kubernetes.io/metadata.name: shop}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: whole-gpu}
spec: {}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-gpus}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    attributes: {numa: {int: 0}, model: {string: a100}}
    capacity: {gpu.example.com/memory: {value: 40Gi}}
"""


@pytest.mark.parametrize(
    "marked, expected, not_expected",
    [
        ("nodeAffinity required |", {"condition", "annotation", "nodeInfo"}, {"requests"}),
        ("nodeAffinity required condition(|", {"GpuHealthy", "DiskPressure"}, {"note", "zone"}),
        ("nodeAffinity required condition(Ready) = |", {"True", "Unknown"}, {"1.30", "Ready"}),
        ("nodeAffinity required condition(Ready) In (False, |", {"True"}, {"1.30"}),
        ("nodeAffinity required annotation(|", {"example.com/rack"}, {"GpuHealthy"}),
        ("nodeAffinity required annotation(note) = |", {'"a b"'}, {"r1"}),
        ("nodeAffinity required nodeInfo(|", {"kubeletVersion"}, {"note"}),
        ("nodeAffinity required nodeInfo(kubeletVersion) >= |", {"1.30"}, {"True"}),
        ("reject when node(condition(|", {"GpuHealthy"}, {"note"}),
        ("reject when annotation(|", {'"example.com/rack"', "note"}, {"GpuHealthy"}),
        ("score label(|", {'"kubernetes.io/os"'}, {"kubernetes.io/os", "storage"}),
        ("reject when |", {"devices", "freeDevices"}, {"takenDevices", "deviceCapacity"}),
        ("score |", {"devices", "takenDevices", "deviceAttribute"}, {"message"}),
        ("reject when freeDevices(|", {"gpu", '"whole-gpu"'}, {"whole-gpu", "memory", "cpu"}),
        ("score takenDevices(|", {"gpu", '"whole-gpu"'}, {"memory"}),
        ("score deviceAttribute(|", {"numa", '"gpu.example.com/numa"'}, {"memory", "model"}),
        ("score deviceCapacity(|", {"memory", '"gpu.example.com/memory"'}, {"numa", "gpu"}),
        ("reject when pod(owner(|", {"name"}, {"GpuHealthy"}),
        ("reject when pod(owner(name) = |", {"ingest-28"}, {"web-1", "True"}),
        ("reject when pod(owner(name) In (x, |", {"ingest-28"}, {"web-1"}),
        ("reject when node(pool = pod(owner(|", {"name"}, {"GpuHealthy"}),
        ("nodeAffinity required condition(Ready) = |", {"True"}, {"pod"}),
        ("nodeAffinity required nodeInfo(kubeletVersion) >= |", {"1.30"}, {"pod"}),
        ("nodeAffinity required pool = |", {"pod"}, {"True"}),
        (
            "nodeAffinity required pool = pod(|",
            {"namespace", "namespaceLabel", "annotation", "owner", "qosClass"},
            {"image", "priority", "limits", "requests"},
        ),
        (
            "nodeAffinity required pool In (shared, pod(|",
            {"namespace", "namespaceLabel"},
            {"image", "priority"},
        ),
        ("reject when node(zone = b) and (pod(|", {"image", "priority"}, {"namespaceLabel"}),
        (
            "nodeAffinity required pool = pod(namespaceLabel(|",
            {"kubernetes.io/metadata.name"},
            {"image", "namespace"},
        ),
        ("reject when pod(storageClass = |", {"local-ssd", "network"}, {"ingest-28"}),
        ("reject when pod(storageClass NotIn (|", {"local-ssd", "network"}, {"data"}),
        ("reject when pod(requests(|", {"storage", "cpu"}, {"local-ssd"}),
        ("reject when pod(limits(|", {"memory"}, {"storage"}),
        ("reject when requests(|", {"storage", "cpu"}, {"local-ssd"}),
        ("reject when free(|", {"memory"}, {"storage"}),
    ],
)
def test_completion_knows_facts_of_nodes_and_pods(
    marked: str, expected: set[str], not_expected: set[str], tmp_path: pathlib.Path
) -> None:
    """Those of the cluster, and the words that the language has."""
    (path := tmp_path / "nodes.yaml").write_text(FACTS)
    loaded = cluster_data.load_cluster_data(
        editor_settings.EditorSettings(cluster=str(path)), tmp_path
    )
    text = inside(marked)
    about = program(text.replace("|", "", 1), known=programs.ProgramEnvironment(words=loaded.words))
    items = completion.propose_completions(about, "0.policy", text.index("|")).items
    found = {each.text for each in items}
    assert expected <= found
    assert not found & not_expected


def test_shares_of_the_weight(known: programs.ProgramEnvironment) -> None:
    """7 beside the 14 of built-in scores is a third."""
    notes = list(selector_matches.list_weight_share_notes(program(METRICS, WEB), "1.policy"))
    assert [note.text for note in notes] == ["33%"]


# ---------------------------------------------------------------------------- actions


def test_findings_are_those_of_the_command_line() -> None:
    """What the editor shows is what `lint` reports: same code, place, text."""
    about = program(METRICS, WEB.replace("missing allow", ""))
    expected = linter.lint_program(checker.check(about.texts), settings.LintSettings())
    assert about.lint_result.findings == expected.findings
    assert about.lint_result.findings


def test_a_finding_can_be_silenced_with_a_reason() -> None:
    """The comment goes on its own line before the statement, indented like it."""
    text = inside("nodeAffinity required pool NotIn (spot)").replace(
        "policy p {", 'policy p {\n  description "x"\n  owner "y"'
    )
    about = program(text)
    [finding] = [each for each in about.lint_result.findings if each.code == "PS208"]
    offered = actions.list_code_actions(about, "0.policy", finding.span.start, finding.span.end)
    [silence] = [each for each in offered if each.title.startswith("Ignore PS208")]
    after = fixing.apply_text_edits(text, silence.edits)
    assert "\n  # policysched: ignore[PS208] say why\n  nodeAffinity" in after
    assert "PS208" not in {each.code for each in program(after).lint_result.findings}


def test_unsafe_fixes_say_so_and_are_not_preferred() -> None:
    """An editor applies nothing by itself that may change what is meant."""
    text = inside("nodeAffinity required pool NotIn (spot)")
    offered = actions.list_code_actions(program(text), "0.policy", 0, len(text))
    [unsafe] = [each for each in offered if "PS208" in each.title and each.kind == "quickfix"][:1]
    assert "unsafe" in unsafe.title
    assert not unsafe.is_preferred


@pytest.mark.parametrize(
    "text, after",
    [
        (inside("nodeAffinity required a Inn (b)"), inside("nodeAffinity required a In (b)")),
        (
            inside("nodeAffinity required a In (b) and a Exists"),
            inside("nodeAffinity required a In (b)"),
        ),
    ],
    ids=["of check", "of lint"],
)
def test_all_safe_fixes_at_once(text: str, after: str) -> None:
    """Of a text with errors and of a sound one."""
    about = program(text)
    [action] = actions.make_fix_all_actions(about, "0.policy")
    assert action.kind == "source.fixAll"
    assert fixing.apply_text_edits(text, action.edits) == after


# ---------------------------------------------------------------------------- the rest


def test_range_formatting_leaves_other_lines() -> None:
    """Only the lines that are asked for become canonical."""
    text = source.SourceText("x", "let  a = 5\nlet b = 6\nlet  c = 7\n")
    edits = formatting.make_range_formatting_edits(text, 0, 3)
    assert fixing.apply_text_edits(text.text, edits) == "let a = 5\nlet b = 6\nlet  c = 7\n"


def test_the_outline_has_names_of_rules() -> None:
    """Policies with their statements, by name where they have one."""
    entries = outline.list_outline_entries(program(METRICS, WEB).parsed["1.policy"])
    assert [entry.name for entry in entries] == ["metrics.policy", "web", "batch", "policysched"]
    assert [entry.name for entry in entries[1].inner][-2:] == ["too-hot", "cool"]


def test_tokens_do_not_overlap_and_know_names() -> None:
    """Words of the language, names, and words of queries."""
    about = program(METRICS, WEB)
    for name in ("metrics.policy", "1.policy"):
        found = semantic_highlighting.list_semantic_tokens(about, name)
        assert all(one.end <= two.start for one, two in itertools.pairwise(found))
    kinds = {
        about.check_result.texts["metrics.policy"].text[each.start : each.end]: each.kind
        for each in semantic_highlighting.list_semantic_tokens(about, "metrics.policy")
    }
    assert kinds["rate"] == "function"
    assert kinds["cpu_busy"] == "variable"
    assert kinds["$range"] == "parameter"
    assert kinds["metric"] == "keyword"
    assert kinds["In"] == "operator"
    assert kinds["80%"] == "number"


def test_a_program_is_a_folder_or_what_a_file_imports(tmp_path: pathlib.Path) -> None:
    """By default all files of a folder; else the file and its imports, as the editor has them."""
    (tmp_path / "metrics.policy").write_text(METRICS, encoding="utf-8")
    (tmp_path / "alone.policy").write_text("let hot = 1\n", encoding="utf-8")
    asked = asking.Asking(tmp_path)
    web = asked.open("web.policy", WEB)
    assert "PS104" in {each.code for each in asked.files.get_program(web).lint_result.findings}
    asked.files.options = editor_settings.EditorSettings(program="file")
    assert asked.files.get_program(web).check_result.program is not None
    asked.open("metrics.policy", METRICS.replace("hot", "cold"))
    assert [each.code for each in asked.session.list_diagnostics(web)] == ["PS104"]
    asked.files.close_document(str(tmp_path / "metrics.policy"))
    assert asked.files.get_program(web).check_result.program is not None


@pytest.mark.parametrize(
    "uri, name",
    [
        ("file:///a/b%2Bc%20d.policy", "/a/b+c d.policy"),
        ("untitled:Untitled-1", "untitled:Untitled-1"),
    ],
)
def test_places_are_told_by_the_uri_that_the_editor_writes(
    uri: str, name: str, tmp_path: pathlib.Path
) -> None:
    """Editors escape more or less than others; a document without a file has no path."""
    assert protocol_conversion.convert_uri_to_path(uri) == name
    document = asking.Asking(tmp_path).files.open_document(name, WEB, 1, uri)
    assert protocol_conversion.make_document_uri(document) == uri
    assert (
        protocol_conversion.make_document_uri(documents.EditorDocument("/a/b.policy", ""))
        == "file:///a/b.policy"
    )


def test_settings_of_lint_count(tmp_path: pathlib.Path) -> None:
    """`.policysched.toml` beside the file chooses rules here too."""
    (tmp_path / ".policysched.toml").write_text('[lint]\nignore = ["PS8"]\n', encoding="utf-8")
    asked = asking.Asking(tmp_path)
    document = asked.open("a.policy", inside("nodeAffinity required a In (b)"))
    assert asked.session.list_diagnostics(document) == []


def test_settings_of_paths_know_manifests(tmp_path: pathlib.Path) -> None:
    """What is left out in a YAML file is left out in its policies."""
    text = '[lint.per-path]\n"map.yaml" = ["PS"]\n'
    (tmp_path / ".policysched.toml").write_text(text, encoding="utf-8")
    asked = asking.Asking(tmp_path)
    manifest = asking.manifest(inside("nodeAffinity required a NotIn (b)"))
    assert asked.session.list_diagnostics(asked.open("map.yaml", manifest)) == []
    assert asked.session.list_diagnostics(asked.open("other.yaml", manifest)) != []


@pytest.mark.parametrize(
    "raw, problem",
    [
        ({"cluster": 5}, "the setting `cluster` is not used: Expected `str | null`, got `int`"),
        (
            {"program": "galaxy"},
            "the setting `program` is not used: Invalid enum value 'galaxy'",
        ),
        (
            {"delayMilliseconds": -1},
            "the setting `delayMilliseconds` is not used: it is not between 0 and 10000",
        ),
        ({"colour": "blue"}, "unknown setting `colour`"),
        ({"clustr": "x"}, "unknown setting `clustr`, did you mean `cluster`?"),
    ],
)
def test_a_wrong_setting_costs_no_other_one(raw: dict[str, object], problem: str) -> None:
    """It is one warning, and what else was sent is used."""
    expected = editor_settings.DecodedSettings(
        editor_settings.EditorSettings(prometheus="http://p"), (problem,)
    )
    assert editor_settings.decode_settings(raw | {"prometheus": "http://p"}) == expected
    assert (
        editor_settings.decode_settings({"policysched": raw | {"prometheus": "http://p"}})
        == expected
    )


@pytest.mark.parametrize("raw", [[1], "x", 5, {"policysched": 3}])
def test_settings_that_are_no_object_are_a_warning(raw: object) -> None:
    """Nothing of them can be used, and the server starts as without."""
    problems = ("the settings must be an object",)
    assert editor_settings.decode_settings(raw) == editor_settings.DecodedSettings(
        editor_settings.EditorSettings(), problems
    )


def test_settings_may_stand_below_their_name() -> None:
    """As editors send them; what is empty is not set."""
    expected = editor_settings.DecodedSettings(editor_settings.EditorSettings(cluster="c.json"))
    assert (
        editor_settings.decode_settings({"policysched": {"cluster": "c.json", "context": None}})
        == expected
    )
    assert editor_settings.decode_settings({"cluster": "c.json", "prometheus": ""}) == expected
    assert editor_settings.decode_settings(None) == editor_settings.DecodedSettings(
        editor_settings.EditorSettings()
    )
    of_client = {"command": ["policysched", "lsp"], "trace": {"server": "off"}}
    assert (
        editor_settings.decode_settings({"policysched": {"cluster": "c.json"} | of_client})
        == expected
    )


def test_words_of_policies_are_proposed_without_a_cluster() -> None:
    """Labels and values that one rule says are proposed in the next."""
    found = vocabulary.collect_policy_vocabulary(program(METRICS, WEB).check_result.parsed)
    assert found.get_labels("pod") == {"app": frozenset({"web", "batch"})}
    assert found.series == {"cpu_total"}
