"""Policies that are right, and that a rule could take for wrong ones."""

from __future__ import annotations

import pytest

from policysched.lang import source
from policysched.lang.checked import checked_selector
from policysched.lint import fixing, linter, settings
from policysched.lint.rules.scores import ps307_disproportionate_weight
from policysched.lint.sets import selector_sets
from tests.lint import cases

HEAD = '  description "d"\n  owner "o"\n'
TWO_PROFILES = (
    f"policy a {{\n{HEAD}  for pods in namespace (prod)\n"
    "  nodeAffinity required pool In (web, burst) as weak\n"
    "  tolerate dedicated=web, other=x as mine\n"
    "  nodeAffinity preferred pool = web weight 5 as pref\n}\n"
    f"policy b {{\n{HEAD}  for pods in namespace (prod)\n"
    "  nodeAffinity required pool = web as strict\n"
    "  tolerate dedicated as all\n}\n"
    "profile one { policies a, b }\n"
)
ALONE = "profile two { policies a }\n"
BOTH = "profile two { policies b, a }\n"


def codes(text: str) -> set[str]:
    """Return the codes of what is found in a text at warning or above, its layout left out."""
    chosen = settings.LintSettings(ignore=("PS802",))
    findings = linter.lint_program(cases.checked(text), chosen).findings
    return {each.code for each in findings if each.severity != "info"}


def metric(unit: str, query: str, label: str = "instance") -> str:
    """Return a policy that scores a query."""
    return (
        f"metric it: {unit} =\n  `{query}`\n  node {label} missing score 0\n\n"
        f"policy web {{\n{HEAD}  for pods where app = web\n  score it prefer low as it\n}}\n"
    )


def test_what_another_profile_needs_is_not_useless() -> None:
    """A rule, toleration or preference is reported where every profile with it makes it useless."""
    told = {"PS204", "PS215", "PS313"}
    assert codes(TWO_PROFILES + BOTH) == told
    assert codes(TWO_PROFILES + ALONE) == set()


def test_safe_fixes_leave_what_another_profile_needs() -> None:
    """The toleration that only the first profile grants otherwise is not taken out."""
    text = source.SourceText("x.policy", TWO_PROFILES + ALONE)
    chosen = settings.LintSettings(ignore=("PS802",))
    assert fixing.apply_fixes([text], {}, chosen, also_unsafe=False) == [text]


def test_a_stricter_rule_that_is_disabled_shadows_nothing() -> None:
    """Where some pods are let off the stricter rule, the weaker one acts on them."""
    base = (
        f"policy base {{\n{HEAD}  for pods in namespace (prod)\n"
        "  nodeAffinity required pool = web as strict\n"
        "  nodeAffinity required pool In (web, burst) as weak\n}\n"
    )
    debug = (
        f"policy debug {{\n{HEAD}  for pods in namespace (prod) where debug Exists\n"
        "  disable base.strict\n}\n"
    )
    assert codes(base) == {"PS204"}
    assert codes(base + debug) == set()


@pytest.mark.parametrize(
    "first, second, is_opposed",
    [
        ("", "", True),
        ('during "08:00-20:00"', 'during "20:00-08:00"', False),
        ('during "08:00-20:00"', 'during "19:00-08:00"', True),
        ('during "08:00-20:00"', "", True),
        ('during "08:00-20:00 Europe/Berlin"', 'during "20:00-08:00"', True),
        ('during "Mon-Fri 00:00-00:00"', 'during "Sat,Sun 00:00-00:00"', False),
        ('expires "2099-01-01"', 'during "20:00-08:00"', True),
    ],
)
def test_scores_are_opposed_where_they_act_together(
    first: str, second: str, is_opposed: bool
) -> None:
    """One that spreads by day and one that packs at night do not take back what the other gives."""
    text = (
        f"policy web {{\n{HEAD}  for pods in namespace (prod)\n"
        f"  score LeastAllocated(cpu: 1) weight 10 {first} as spread\n"
        f"  score MostAllocated(cpu: 1) weight 10 {second} as pack\n}}\n"
    )
    assert codes(text) == ({"PS205"} if is_opposed else set())


@pytest.mark.parametrize(
    "scope, is_opposed",
    [("", False), (" where tier = batch", False), (" where debug Exists", True)],
)
def test_scores_that_are_disabled_oppose_nothing(scope: str, is_opposed: bool) -> None:
    """A policy may turn a score off for its pods, and have the opposite one."""
    text = (
        f"policy base {{\n{HEAD}  for pods in namespace (prod)\n"
        "  score LeastAllocated(cpu: 1) weight 10 as spread\n}\n"
        f"policy batch {{\n{HEAD}  for pods in namespace (prod) where tier = batch\n"
        "  score MostAllocated(cpu: 1) weight 10 as pack\n}\n"
        f"policy off {{\n{HEAD}  for pods in namespace (prod){scope}\n"
        "  disable base.spread\n}\n"
    )
    assert codes(text) == ({"PS205"} if is_opposed else set())


@pytest.mark.parametrize(
    "profile, is_told",
    [
        ("disable all scores", True),
        ("disable all scores plugin NodeResourcesFit weight 50", False),
        (f"disable scores {', '.join(ps307_disproportionate_weight.BUILTIN_WEIGHTS)}", True),
        ("disable all scores plugin NodeResourcesFit weight 1 builtin weight 50", False),
        ("", False),
    ],
)
def test_weights_are_compared_with_those_of_the_profile(profile: str, is_told: bool) -> None:
    """Built-in scores count as the profile weighs them, and not where they are off."""
    text = (
        f"policy web {{\n{HEAD}  for pods in namespace (prod)\n"
        "  score free(cpu) prefer high weight 95 as cpu\n"
        "  score free(memory) prefer high weight 5 as memory\n}\n"
        f"profile web {{ policies web {profile} }}\n"
    )
    assert codes(text) == ({"PS307"} if is_told else set())


BY_INSTANCE = "sum by (instance) (node_load1)"


@pytest.mark.parametrize(
    "query",
    [
        f'label_replace({BY_INSTANCE}, "node", "$1", "instance", "(.*):.*")',
        f'label_join({BY_INSTANCE}, "node", "", "instance")',
    ],
)
def test_labels_that_name_the_node_may_be_written_from_others(query: str) -> None:
    """`instance` tells nodes apart where `node` is made of it: one sample for each."""
    assert codes(metric("number", query, "node")) == set()


@pytest.mark.parametrize(
    "query",
    [
        'label_replace(sum by (instance, device) (x), "node", "$1", "instance", "(.*):.*")',
        'label_replace(sum by (node, instance) (x), "other", "$1", "instance", "(.*):.*")',
    ],
)
def test_labels_beside_those_that_name_the_node_are_told(query: str) -> None:
    """What is no source of the node's label still makes several samples of a node."""
    assert codes(metric("number", query, "node")) >= {"PS402"}


@pytest.mark.parametrize(
    "unit, query",
    [
        ("bytesPerSecond", "sum by (instance) (increase(in_bytes_total[5m])) / 300"),
        ("ratio", "sum by (instance) (increase(cpu_seconds_total[5m])) / 300"),
        ("bytes", "sum by (instance) (deriv(node_memory_MemFree_bytes[5m])) * 300"),
        ("perSecond", "sum by (instance) (rate(in_bytes_total[5m])) * 8"),
        (
            "ratio",
            (
                "max by (instance) (rate(node_network_receive_bytes_total[5m])"
                " / node_network_speed_bytes)"
            ),
        ),
    ],
)
def test_units_are_not_guessed_of_numbers(unit: str, query: str) -> None:
    """A number in a query may have a unit, and names of node_exporter are known."""
    assert codes(metric(unit, query)) == set()


@pytest.mark.parametrize("factor", ["* 100", "/ 1000", "/ 1024", "* 1e9", "/ (1024)", "* 0.01"])
def test_scales_keep_a_unit(factor: str) -> None:
    """Percent, kilo and mebi are no units."""
    assert "PS414" in codes(metric("ratio", f"sum by (instance) (a_bytes) {factor}"))


def test_unless_is_told_by_what_it_does() -> None:
    """Where nothing is matched, `unless` takes nothing away."""
    text = metric("number", f"{BY_INSTANCE} unless sum by (node) (b)")
    chosen = settings.LintSettings(select=("PS404",))
    (finding,) = linter.lint_program(cases.checked(text), chosen).findings
    assert finding.notes[0].endswith("equal: the right side removes nothing")


def test_comparisons_of_rules_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a policy with more rules than people write no two are compared."""
    count = 0
    implies = selector_sets.does_selector_imply

    def counted(*given: checked_selector.Selector) -> bool:
        nonlocal count
        count += 1
        return implies(*given)

    monkeypatch.setattr(selector_sets, "does_selector_imply", counted)
    rules = "".join(f"  nodeAffinity required a{i} = x or b = y as r{i}\n" for i in range(200))
    text = f"policy web {{\n{HEAD}  for pods in namespace (prod)\n{rules}}}\n"
    linter.lint_program(cases.checked(text), settings.LintSettings(select=("PS204",)))
    assert count < 200


@pytest.mark.parametrize(
    "rule, is_told",
    [
        ("nodeAffinity required maintenance DoesNotExist", False),
        ("nodeAffinity required lifecycle != spot", False),
        ("nodeAffinity required not (maintenance Exists)", False),
        ("nodeAffinity preferred maintenance DoesNotExist weight 5", False),
        ("reject when node(maintenance Exists)", False),
        ("reject when node(zone Exists and rack In (r1, r2))", False),
        ("nodeAffinity required gpu-mem-gp DoesNotExist", True),
        ("reject when node(gpu-mem-gp Exists)", True),
        ("nodeAffinity required disktype = ssd", True),
        ("reject when node(disktype != ssd)", True),
        ("reject when not node(disktype = ssd)", True),
        ("nodeAffinity preferred disktype = ssd weight 5", True),
    ],
)
def test_labels_that_keep_pods_off_may_be_on_no_node(rule: str, is_told: bool) -> None:
    """No node is drained now, which is no reason to warn; one that is misspelt is."""
    text = f"policy web {{\n{HEAD}  for pods where app = web\n  {rule} as it\n}}\n"
    chosen = settings.LintSettings(select=("PS502",))
    assert bool(cases.lint("PS502", text, chosen)) is is_told
