"""What the compiler gets: resolved, in one scale, with defaults filled in."""

from __future__ import annotations

import pytest

from policysched import units
from policysched.lang import source
from policysched.lang.checked import checked, checked_expr, checked_selector
from policysched.lang.checking import checker

PREAMBLE = """
param range: duration = 5m
param limit: ratio = 80%
let pool = { pool = gpu }
metric busy: ratio = `rate(x[$range])` node instance missing allow missing score 50
metric used: cores = `y` node instance missing allow missing score 50
"""


def _program(text: str, **given: str) -> checked.CheckedProgram:
    result = checker.check([source.SourceText("x.policy", PREAMBLE + text)], given=given)
    assert result.program is not None, [each.message for each in result.diagnostics]
    return result.program


def _rule(statement: str) -> checked.Rule:
    program = _program(f"policy p {{ for pods {statement} }}")
    return program.policies[0].rules[0]


def _condition(expr: str) -> checked_expr.TypedExpr:
    rule = _rule(f"reject when {expr} missing allow")
    assert isinstance(rule, checked.RejectRule)
    return rule.condition


def _shown_metric(ref: checked_expr.MetricRef) -> str:
    window = ref.window
    return f"${ref.metric}" + (f"[{window.seconds:g} {window.function}]" if window else "")


def _shown(expr: checked_expr.TypedExpr) -> str:
    """Write a typed expression in one line."""
    match expr:
        case checked_expr.Const(value=value, unit=unit):
            return f"{value:g}:{unit}"
        case checked_expr.MetricRef():
            return _shown_metric(expr)
        case checked_expr.ValueWithFallback(value=value, fallback=fallback):
            return f"({_shown(value)} else {_shown(fallback)})"
        case checked_expr.NodeResource(kind=kind, resource=resource):
            return f"{kind}({resource})"
        case checked_expr.PodRequests(resource=resource):
            return f"requests({resource})"
        case checked_expr.NodeLabelNumber(key=key):
            return f"label({key})"
        case checked_expr.NumberFunctionCall(function=function, arguments=arguments):
            return f"{function}({', '.join(_shown(each) for each in arguments)})"
        case checked_expr.ArithmeticOperation(operator=operator, left=left, right=right):
            return f"({_shown(left)} {operator} {_shown(right)})"
        case checked_expr.Compare(comparator=comparator, left=left, right=right):
            return f"({_shown(left)} {comparator} {_shown(right)})"
        case _:
            return type(expr).__name__


@pytest.mark.parametrize(
    "written, typed",
    [
        pytest.param("busy > limit", "($busy > 0.8:ratio)", id="param"),
        pytest.param("used > 500m", "(($used * 1000:number) > 500:cores)", id="milli-cores"),
        pytest.param("2 < free(cpu)", "(2000:cores < free(cpu))", id="literal-left"),
        pytest.param("free(cpu) > 2 * 2", "(free(cpu) > 4000:cores)", id="folded"),
        pytest.param(
            "free(memory) - requests(memory) >= 1Gi",
            "((free(memory) - requests(memory)) >= 1.07374e+09:bytes)",
            id="bytes",
        ),
        pytest.param("-priority > 5", "((0:number - PodPriority) > 5:number)", id="minus"),
        pytest.param(
            'mod(free("a.b/c"), 1000) = 0', "(mod(free(a.b/c), 1000:number) = 0:number)", id="mod"
        ),
        pytest.param(
            "floor(free(cpu)) > 1",
            "((floor((free(cpu) / 1000:number)) * 1000:number) > 1000:cores)",
            id="whole-cores",
        ),
        pytest.param(
            "number(free(cpu)) > 1", "((free(cpu) / 1000:number) > 1:number)", id="number-of-cores"
        ),
        pytest.param("number(free(memory)) > 1", "(free(memory) > 1:number)", id="number-of-bytes"),
        pytest.param(
            "max(free(cpu), 500m, 2) > 1",
            "(max(free(cpu), 500:cores, 2000:cores) > 1000:cores)",
            id="arguments",
        ),
        pytest.param("label(watts) >= 5", "(label(watts) >= 5:number)", id="label"),
    ],
)
def test_expressions_are_typed_in_one_scale(written: str, typed: str) -> None:
    """Params and lets are put in, literals have the canonical number of what they meet."""
    assert _shown(_condition(written)) == typed


@pytest.mark.parametrize(
    "written, requirement",
    [
        pytest.param("a = b", ("a", "In", ("b",)), id="equals"),
        pytest.param("a != b", ("a", "NotIn", ("b",)), id="not-equals"),
        pytest.param("a In (c, b, c)", ("a", "In", ("b", "c")), id="sorted"),
        pytest.param("a >= 5", ("a", "Gt", ("4",)), id="at-least"),
        pytest.param("a <= -5", ("a", "Lt", ("-4",)), id="at-most"),
        pytest.param("a > 05", ("a", "Gt", ("5",)), id="canonical-number"),
        pytest.param("a doesnotexist", ("a", "DoesNotExist", ()), id="lower-case"),
    ],
)
def test_label_requirements_have_the_operators_of_kubernetes(
    written: str, requirement: tuple[str, str, tuple[str, ...]]
) -> None:
    """Sugar is gone and values are in one order."""
    rule = _rule(f"nodeAffinity required {written}")
    assert isinstance(rule, checked.NodeAffinityRule)
    selector = rule.selector
    assert isinstance(selector, checked_selector.LabelRequirement)
    assert (selector.key, selector.operator, selector.values) == requirement


def test_a_let_is_put_in_where_it_is_used() -> None:
    """No name of a let is left."""
    rule = _rule("nodeAffinity required pool and not tainted(a:NoSchedule)")
    assert isinstance(rule, checked.NodeAffinityRule)
    match rule.selector:
        case checked_selector.SelectorConjunction(
            operands=(
                checked_selector.LabelRequirement(key="pool", values=("gpu",)),
                checked_selector.SelectorNegation(
                    operand=checked_selector.TaintRequirement(pattern=pattern)
                ),
            )
        ):
            assert (pattern.key, pattern.operator, pattern.effects) == (
                "a",
                "Exists",
                ("NoSchedule",),
            )
        case other:
            pytest.fail(f"{other}")


def test_what_is_not_written_has_its_default() -> None:
    """The compiler knows no defaults."""
    spread = _rule("topologySpread topologyKey zone")
    assert isinstance(spread, checked.TopologySpreadRule)
    assert spread.pods == checked_selector.PodSelection("self", None, None, (), ())
    assert (spread.max_skew, spread.min_domains, spread.weight) == (1, 1, None)
    assert spread.when_unsatisfiable == "DoNotSchedule"
    assert (spread.node_affinity_policy, spread.node_taints_policy) == ("Honor", "Ignore")
    metric = _program("").metrics[0]
    assert (metric.refresh_seconds, metric.max_age_seconds) == (30.0, 150.0)
    tolerate = _rule("tolerate a, b=c:NoSchedule")
    assert isinstance(tolerate, checked.TolerationRule)
    assert [each.effects for each in tolerate.patterns] == [
        ("NoSchedule", "PreferNoSchedule"),
        ("NoSchedule",),
    ]


@pytest.mark.parametrize(
    "statement, normalization, prefer",
    [
        ("score busy prefer low", checked.LinearNormalization(0.0, 1.0), "low"),
        ("score free(cpu) prefer high", checked.MinMaxNormalization(0.0), "high"),
        (
            "score used prefer low normalize linear(500m, 8)",
            checked.LinearNormalization(500.0, 8000.0),
            "low",
        ),
        ("score busy prefer low normalize minmax(10%)", checked.MinMaxNormalization(0.1), "low"),
        ("score busy prefer low normalize rank", checked.RankNormalization(), "low"),
        ("score busy prefer high normalize max", checked.MaxNormalization(), "high"),
        (
            "score busy normalize shape(0%: 100, 50%: 0)",
            checked.ShapeNormalization(((0.0, 100), (0.5, 0))),
            None,
        ),
        ("score node(a Exists)", None, None),
    ],
)
def test_scores_say_how_values_become_points(
    statement: str, normalization: checked.Normalization | None, prefer: str | None
) -> None:
    """Ratios are linear by default, other numbers min-max, conditions need nothing."""
    rule = _rule(statement)
    assert isinstance(rule, checked.ExpressionScoreRule)
    assert (rule.normalization, rule.prefer) == (normalization, prefer)


def test_missing_is_inherited_from_the_metric_and_overridden_by_the_clause() -> None:
    """None means that nothing can be missing."""
    reject, own, fixed = (
        _rule("reject when busy > 1%"),
        _rule("reject when busy > 1% missing reject"),
        _rule("reject when free(cpu) < 2"),
    )
    assert isinstance(reject, checked.RejectRule)
    assert isinstance(own, checked.RejectRule)
    assert isinstance(fixed, checked.RejectRule)
    assert (reject.on_missing, own.on_missing, fixed.on_missing) == ("allow", "reject", None)
    score = _rule("score busy prefer low")
    assert isinstance(score, checked.ExpressionScoreRule)
    assert score.missing_points == 50


def test_rules_have_stable_names() -> None:
    """A name depends on the rule's own text, not on its place or layout."""
    first = _program("policy p { for pods reject when free(cpu) < 2 tolerate a as mine }")
    second = _program("policy p { for pods tolerate a as mine\n reject when free(cpu)   <   2 }")
    names = sorted(rule.head.name for rule in first.policies[0].rules)
    assert names == sorted(rule.head.name for rule in second.policies[0].rules)
    assert names[0] == "p/mine"
    assert names[1].startswith("p/reject@")


def test_disables_point_at_rules() -> None:
    """By the name that the rule has in verdicts."""
    program = _program(
        "policy a { for pods reject when free(cpu) < 2 as small }"
        "policy b { for pods disable a.small }"
    )
    (disabled,) = program.policies[1].disables
    assert (disabled.policy, disabled.rule) == ("a", "a/small")


def test_without_profiles_one_is_implied() -> None:
    """It has every policy and no name of its own."""
    program = _program("policy a { for pods } policy b { for pods reject when busy > 1% }")
    (profile,) = program.profiles
    assert (profile.name, [each.name for each in profile.policies]) == (None, ["a", "b"])
    assert [metric.key for metric in profile.metrics] == ["busy"]


def test_a_profile_has_policies_under_its_own_params() -> None:
    """Queries that differ are other metrics, equal ones are the same."""
    program = _program(
        "policy a { for pods reject when busy > limit and used > 1 }"
        "profile one { policies a } profile two { policies a param range = 10m param limit = 50% }"
    )
    one, two = program.profiles
    assert [metric.key for metric in one.metrics] == ["busy", "used"]
    changed, same = two.metrics
    assert changed.key.startswith("busy@")
    assert changed.promql == "rate(x[10m])"
    assert same.key == "used"
    rule = two.policies[0].rules[0]
    assert isinstance(rule, checked.RejectRule)
    assert checked_expr.list_read_metrics(rule.condition) == (changed.key, "used")
    assert "0.5:ratio" in "".join(
        _shown(each) for each in checked_expr.walk_expressions(rule.condition)
    )


def test_given_params_win_over_profiles() -> None:
    """file < profile < what is given from outside; the hash follows."""
    text = "policy a { for pods reject when busy > 1% } profile p { policies a param range = 10m }"
    plain, given = _program(text), _program(text, range="20m")
    assert plain.profiles[0].metrics[0].promql == "rate(x[10m])"
    assert given.profiles[0].metrics[0].promql == "rate(x[20m])"
    assert plain.content_hash != given.content_hash


def test_the_hash_follows_texts_and_not_where_they_lie() -> None:
    """Base name and content count; the folder and the order in which texts come do not."""
    texts = [
        ("web.policy", "let a = 1"),
        ("gpu.policy", "let b = 2"),
        ("x/web.policy", "let c = 3"),
    ]

    def content_hash(folder: str, pairs: list[tuple[str, str]]) -> str:
        sources = [source.SourceText(f"{folder}{name}", text) for name, text in pairs]
        program = checker.check(sources).program
        assert program is not None
        return program.content_hash

    expected = content_hash("", texts)
    assert content_hash("./policies/", texts[::-1]) == expected
    assert content_hash("", [("other.policy", "let a = 1"), *texts[1:]]) != expected
    assert content_hash("", [("web.policy", "let a = 7"), *texts[1:]]) != expected


@pytest.mark.slow
def test_a_selector_that_is_too_large_is_reported_once() -> None:
    """Not once for each operand beyond the limit."""
    operands = " and ".join(f"a{number} = b" for number in range(12_000))
    text = source.SourceText("x.policy", f"policy a {{ for pods where {operands} }}")
    assert [each.code for each in checker.check([text]).diagnostics] == ["PS004"]


def test_plugin_arguments_are_json() -> None:
    """Unquoted numbers and constants have their JSON meaning, quoted ones are strings."""
    program = _program(
        'profile p { plugin X weight 3 args { a: 1, b: -1.5, c: true, d: null, e: "1", f: w,'
        ' g: [1, { "h i": [] }], k: {} } disable all scores disable Y disable scores Z'
        " builtin weight 2 }"
    )
    (profile,) = program.profiles
    (plugin,) = profile.plugins
    assert plugin.args == {
        "a": 1,
        "b": -1.5,
        "c": True,
        "d": None,
        "e": "1",
        "f": "w",
        "g": (1, {"h i": ()}),
        "k": {},
    }
    assert (plugin.name, plugin.weight) == ("X", 3)
    assert (profile.disabled, profile.disabled_scores) == (("Y",), ("Z",))
    assert (profile.disable_all_scores, profile.builtin_weight) == (True, 2)


def test_unknown_plugins_are_found_where_the_installed_ones_are_known() -> None:
    """The language alone takes any name: plugins come from other packages."""
    text = source.SourceText("x.policy", "profile p { plugin NodeResourceFit disable Nothing }")
    assert checker.check([text]).program is not None
    result = checker.check([text], plugins=["NodeResourcesFit"])
    assert [(each.code, each.span.column) for each in result.diagnostics] == [
        ("PS104", 20),
        ("PS104", 44),
    ]
    assert result.diagnostics[0].help == "write `NodeResourcesFit`"


def test_texts_share_their_names() -> None:
    """The keys of a ConfigMap are one namespace; an import only asks for presence."""
    texts = [
        source.SourceText("a/metrics.policy", "metric m: ratio = `x` node n missing allow"),
        source.SourceText(
            "a/web.policy", 'import "metrics.policy"\npolicy w { for pods reject when m > 1% }'
        ),
    ]
    assert checker.check(texts).program is not None
    alone = checker.check(texts[1:])
    assert [each.code for each in alone.diagnostics] == ["PS104", "PS104"]


def test_two_texts_of_one_name_are_an_error() -> None:
    """Neither would win."""
    text = source.SourceText("a.policy", "")
    assert [each.code for each in checker.check([text, text]).diagnostics] == ["PS104"]


def test_no_text_at_all_is_a_program_without_policies() -> None:
    """An empty key says: no policies."""
    for texts in ([], [source.SourceText("empty.policy", "")]):
        program = checker.check(texts).program
        assert program is not None
        assert (program.policies, len(program.profiles)) == ((), 1)


def test_helpers_tell_what_an_expression_reads() -> None:
    """The compiler asks this for the code of a rejection and for requeueing."""
    assert checked_expr.reads_placed_pods(_condition("free(cpu) < 2 and busy > 1%"))
    assert not checked_expr.reads_placed_pods(_condition("allocatable(cpu) < 2 or busy > 1%"))
    assert checked_expr.list_read_metrics(_condition("used > 1 or not busy > 1%")) == (
        "busy",
        "used",
    )


def test_units_of_metrics_stay_on_the_leaf() -> None:
    """A metric in cores is scaled once, above its reference."""
    condition = _condition("used > 1")
    leaf = next(
        e for e in checked_expr.walk_expressions(condition) if isinstance(e, checked_expr.MetricRef)
    )
    assert leaf.unit == units.CORES


# --- options of metrics ---------------------------------------------------------------------------

DERIVED = """
metric guess: ratio = `rate(z[$range])` node instance missing reject
metric told: ratio = `t` node instance over 10m avg fallback guess else 5% source europe
metric cores: cores = `c` node instance between 500m and 64 placed adds requests(cpu) for 2m
"""


@pytest.mark.parametrize(
    "statement, shown",
    [
        pytest.param(
            "reject when told > 50%",
            "(($told[600 avg] else ($guess else 0.05:ratio)) > 0.5:ratio)",
            id="metric",
        ),
        pytest.param(
            "reject when told > 50% over 1m max",
            "(($told[60 max] else ($guess else 0.05:ratio)) > 0.5:ratio)",
            id="clause-not-in-the-fallback",
        ),
        pytest.param(
            "reject when cores else 500m > 2 missing allow",
            "((($cores * 1000:number) else 500:cores) > 2000:cores)",
            id="canonical-scale",
        ),
    ],
)
def test_fallbacks_and_windows_are_put_in_where_a_metric_is_read(
    statement: str, shown: str
) -> None:
    """The compiler sees references and `else`, and no rules of names."""
    rule = _program(f"{DERIVED} policy p {{ for pods {statement} }}").policies[0].rules[0]
    assert isinstance(rule, checked.RejectRule)
    assert _shown(rule.condition) == shown


def test_options_of_metrics_are_in_the_scale_of_the_query() -> None:
    """Bounds of cores are whole cores; what pods add is canonical; sources are told."""
    program = _program(f"{DERIVED} policy p {{ for pods reject when told > 50% }}")
    metrics = {metric.name: metric for metric in program.metrics}
    assert (metrics["cores"].low, metrics["cores"].high) == (0.5, 64.0)
    assert metrics["cores"].placed is not None
    assert _shown(metrics["cores"].placed.value) == "requests(cpu)"
    assert metrics["cores"].placed.seconds == 120
    assert program.sources == ("europe",)
    assert {metric.key for metric in program.profiles[0].metrics} == {"told", "guess"}


def test_a_profile_that_changes_a_fallback_has_a_metric_of_its_own() -> None:
    """The key of a metric stands for all that makes its value, what it falls back on too."""
    program = _program(
        f"""{DERIVED} policy p {{ for pods reject when told > 50% }}
        profile plain {{ policies p }}
        profile other {{ policies p param range = 10m }}"""
    )
    plain, other = ({m.name: m.key for m in each.metrics} for each in program.profiles)
    assert plain == {"told": "told", "guess": "guess"}
    assert other["guess"].startswith("guess@")
    assert other["told"].startswith("told@")
    rule = program.profiles[1].policies[0].rules[0]
    assert isinstance(rule, checked.RejectRule)
    assert set(checked_expr.list_read_metrics(rule.condition)) == set(other.values())


def test_fallbacks_cannot_grow_without_end() -> None:
    """Each metric that doubles the one before is put in once too often."""
    chain = ["metric m0: ratio = `q` node instance missing allow"]
    chain += [
        f"metric m{n}: ratio = `q` node instance fallback 0.5 * m{n - 1} + 0.5 * m{n - 1}"
        for n in range(1, 40)
    ]
    result = checker.check([source.SourceText("x.policy", "\n".join(chain))])
    assert {each.code for each in result.diagnostics} == {"PS004"}
    chain[2:] = [f"metric m{n}: ratio = `q` node instance fallback m{n - 1}" for n in range(2, 400)]
    result = checker.check([source.SourceText("x.policy", "\n".join(chain))])
    assert {each.code for each in result.diagnostics} == {"PS004"}


def test_a_whole_number_by_param_is_told_with_its_value() -> None:
    """The param may have been given far away, by the command line or by a profile."""
    text = "param w: number = 0\npolicy p { for pods nodeAffinity preferred a Exists weight w }\n"
    (finding,) = checker.check([source.SourceText("p.policy", text)]).diagnostics
    assert finding.message == "a weight must be a whole number from 1 to 100, not `w`"
    assert finding.label == "this is 0"
