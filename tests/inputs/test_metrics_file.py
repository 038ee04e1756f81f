from __future__ import annotations

import pytest

from policysched import errors
from policysched.cluster.metrics import metric_table
from policysched.inputs import metrics_file
from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.checking import checker
from tests import builders

POLICY = """\
version 1
metric cpu_busy: ratio = `cpu` node instance refresh 15s maxAge 2m
metric shares: ratio = `s` node instance refresh 15s maxAge 2m between 0% and 105%
metric change: ratio = `c` node instance refresh 15s maxAge 2m between -50% and 50%
metric used: bytes = `used` node instance refresh 15s maxAge 2m
metric busy: cores = `busy` node instance refresh 15s maxAge 2m
metric net: bytesPerSecond = `net` node instance refresh 15s maxAge 2m
metric wait: seconds = `wait` node instance refresh 15s maxAge 2m
metric queue: number = `queue` node instance refresh 15s maxAge 2m
"""
NOW = builders.EPOCH


@pytest.fixture(scope="module")
def declared() -> tuple[checked.CheckedMetric, ...]:
    """One metric of each unit."""
    result = checker.check([source.SourceText("m.policy", POLICY)])
    assert result.program is not None
    return result.program.metrics


def _read(text: str, declared: tuple[checked.CheckedMetric, ...]) -> metrics_file.Samples:
    return metrics_file.parse_metrics_text(text, "m.yaml", declared, NOW).samples


@pytest.mark.parametrize(
    "metric, value, number",
    [
        pytest.param("cpu_busy", "91%", 0.91, id="ratio-percent"),
        pytest.param("cpu_busy", "0.91", 0.91, id="ratio"),
        pytest.param("cpu_busy", "'0.91'", 0.91, id="ratio-quoted"),
        pytest.param("cpu_busy", "150%", 1.5, id="ratio-above-one"),
        pytest.param("shares", "1.02", 1.02, id="ratio-above-one-in-range"),
        pytest.param("shares", "'1.02'", 1.02, id="ratio-above-one-in-range-quoted"),
        pytest.param("used", "4Gi", 4 * 2**30, id="bytes"),
        pytest.param("used", "1000", 1000.0, id="bytes-plain"),
        pytest.param("busy", "500m", 0.5, id="cores-milli"),
        pytest.param("busy", "1.5", 1.5, id="cores-plain"),
        pytest.param("net", "10Mi", 10 * 2**20, id="rate"),
        pytest.param("wait", "1h30m", 5400.0, id="duration"),
        pytest.param("wait", "2.5", 2.5, id="seconds-plain"),
        pytest.param("queue", "3k", 3000.0, id="number-suffix"),
        pytest.param("queue", "-3", -3.0, id="number-negative"),
        pytest.param("change", "-5%", -0.05, id="ratio-negative-in-range"),
    ],
)
def test_values_are_in_the_scale_of_the_query(
    metric: str, value: str, number: float, declared: tuple[checked.CheckedMetric, ...]
) -> None:
    """A value with a unit means the number that Prometheus would have answered."""
    samples = _read(f"{metric}: {{n1: {value}}}", declared)
    assert samples == {metric: {"n1": metric_table.Sample(number, NOW.timestamp())}}


@pytest.mark.parametrize("value", ["_", "~", "missing"])
def test_a_missing_value_is_no_sample(
    value: str, declared: tuple[checked.CheckedMetric, ...]
) -> None:
    """A node without data has no sample, and the metric is refreshed nevertheless."""
    assert _read(f"cpu_busy: {{n1: {value}}}", declared) == {"cpu_busy": {}}


def test_a_stale_value_is_older_than_allowed(
    declared: tuple[checked.CheckedMetric, ...],
) -> None:
    """`stale` is a sample beyond the metric's maxAge."""
    sample = _read("cpu_busy: {n1: stale}", declared)["cpu_busy"]["n1"]
    assert NOW.timestamp() - sample.measured_at_seconds > 120


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"cpu_busy": {"n1": "50%"}}', id="json"),
        pytest.param("metrics:\n  cpu_busy:\n    n1: 50%\n", id="as-in-a-policy-test"),
    ],
)
def test_other_forms(text: str, declared: tuple[checked.CheckedMetric, ...]) -> None:
    """JSON, and the table under a key `metrics`, mean the same."""
    assert _read(text, declared)["cpu_busy"]["n1"].value == 0.5


def test_an_empty_file_has_no_samples(declared: tuple[checked.CheckedMetric, ...]) -> None:
    """Nothing is known then, which is no error."""
    assert _read("", declared) == {}


def test_a_metric_that_params_split_gets_its_values_under_each_key() -> None:
    """Two profiles that ask a metric with other params both see the values of the file."""
    text = POLICY.replace("`cpu`", "`rate(cpu[$range])`").replace(
        "version 1", "version 1\nparam range: duration = 5m"
    ) + (
        "policy p { for pods reject when cpu_busy > 50% missing allow as hot }\n"
        "profile a { policies p }\n"
        "profile b { policies p param range = 1m }\n"
    )
    result = checker.check([source.SourceText("m.policy", text)])
    assert result.program is not None
    metrics = {m.key: m for profile in result.program.profiles for m in profile.metrics}
    split = tuple(metrics.values())
    samples = metrics_file.parse_metrics_text("cpu_busy: {n1: 50%}", "m.yaml", split, NOW).samples
    assert len(samples) == 2
    assert {name.partition("@")[0] for name in samples} == {"cpu_busy"}


@pytest.mark.parametrize(
    "text, message",
    [
        pytest.param(
            "cpu_bsy: {n1: 1%}",
            "m.yaml:1: no policy declares a metric `cpu_bsy` (did you mean `cpu_busy`?)",
            id="unknown-metric",
        ),
        pytest.param(
            "cpu_busy:\n  n1: 1%\n  n2: 91",
            "m.yaml:3: `91` is not a value of `cpu_busy`, whose unit is ratio (write 0.91 or 91%)",
            id="percent-without-sign",
        ),
        pytest.param(
            "cpu_busy: {n1: -5%}",
            "m.yaml:1: `-5%` is not a value of `cpu_busy`, whose unit is ratio (write 0.91 or 91%)",
            id="negative-percentage",
        ),
        pytest.param(
            "shares: {n1: -0.05}",
            "m.yaml:1: `-0.05` is not a value of `shares`, whose unit is ratio (write 0.91 or 91%)",
            id="negative-ratio",
        ),
        pytest.param(
            "shares: {n1: 1.2}",
            "m.yaml:1: `1.2` is not a value of `shares`, whose unit is ratio (write 0.91 or 91%)",
            id="ratio-out-of-range",
        ),
        pytest.param(
            "cpu_busy: {n1: '1.02'}",
            "m.yaml:1: `1.02` is not a value of `cpu_busy`, whose unit is ratio "
            "(write 0.91 or 91%)",
            id="ratio-above-one-without-range",
        ),
        pytest.param(
            "used: {n1: 50%}",
            "m.yaml:1: `50%` is not a value of `used`, whose unit is bytes "
            "(write 10Gi, or the plain number of bytes)",
            id="wrong-unit",
        ),
        pytest.param(
            "cpu_busy: {n1: true}",
            "m.yaml:1: `True` is not a value of `cpu_busy`, whose unit is ratio "
            "(write 0.91 or 91%)",
            id="boolean",
        ),
        pytest.param(
            '{"used": {"n1": 1e400}}',
            "m.yaml:1: `1e400` is not a value of `used`, whose unit is bytes "
            "(write 10Gi, or the plain number of bytes)",
            id="infinite",
        ),
        pytest.param(
            f"used: {{n1: {'9' * 400}}}",
            f"m.yaml:1: `{'9' * 400}` is not a value of `used`, whose unit is bytes "
            "(write 10Gi, or the plain number of bytes)",
            id="huge",
        ),
        pytest.param(
            "used: {n1: 1.0e+999}",
            "m.yaml:1:12: the number `1.0e+999` is too large (quote a text)",
            id="overflow",
        ),
        pytest.param(
            "cpu_busy: 91%",
            "m.yaml:1: `cpu_busy` is not a mapping from node to value "
            "(write `metric: {node: value}`, with values such as 91%, 10Mi, 0.5, _ or stale)",
            id="no-nodes",
        ),
        pytest.param(
            "- 1",
            "m.yaml: is not a mapping from metric to node to value "
            "(write `metric: {node: value}`, with values such as 91%, 10Mi, 0.5, _ or stale)",
            id="list",
        ),
    ],
)
def test_what_cannot_be_a_sample_is_one_clear_error(
    text: str, message: str, declared: tuple[checked.CheckedMetric, ...]
) -> None:
    """The error names the line, the metric and its unit, and what to write."""
    with pytest.raises(errors.InputError) as caught:
        _read(text, declared)
    assert str(caught.value) == message


def test_without_policies_no_metric_is_known() -> None:
    """Values that nothing can read are not ignored in silence."""
    with pytest.raises(
        errors.InputError, match=r"no policy declares a metric `x` \(the policies declare"
    ):
        metrics_file.parse_metrics_text("x: {n1: 1}", "m.yaml", (), NOW)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"cpu_busy": {"n1": 0.4, "n2": "91%", "n3": null}}', id="json"),
        pytest.param('{"metrics": {"cpu_busy": {"n1": 4e-1, "n2": "0.91"}}}', id="wrapped"),
        pytest.param("{cpu_busy: {n1: 0.4, n2: 91%}}", id="yaml in braces"),
    ],
)
def test_json_is_read_as_yaml_is(text: str, declared: tuple[checked.CheckedMetric, ...]) -> None:
    """Only faster."""
    found = _read(text, declared)["cpu_busy"]
    assert {node: sample.value for node, sample in found.items()} == {"n1": 0.4, "n2": 0.91}


@pytest.mark.parametrize(
    "text, problem",
    [
        pytest.param('{"cpu_busy":\n{"n1": "hot"}}', "m.yaml:2: `hot` is not a value", id="value"),
        pytest.param('{"cpu_busy": {"n1": 1, "n1": 2}}', "n1", id="twins"),
        pytest.param('{"cpu_busy": {"n1": NaN}}', "NaN", id="no number"),
        pytest.param('{"metrics": [1]}', "not a mapping from metric", id="a list"),
    ],
)
def test_wrong_json_is_told_with_its_line(
    text: str, problem: str, declared: tuple[checked.CheckedMetric, ...]
) -> None:
    """As of YAML."""
    with pytest.raises(errors.InputError) as caught:
        _read(text, declared)
    assert problem in str(caught.value)
