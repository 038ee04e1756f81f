from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import node_aliases
from policysched.lang.checked import checked
from policysched.promapi import answers, failures, latest_samples, series_node_join
from tests.promapi import worlds

Cause = failures.QueryIssue
NOW = 90_000.0
MAX_AGE = 60.0
EVALUATED = 5000.0
NAMES = node_aliases.NodeAliasIndex(
    [
        worlds.node("n1", "10.0.0.1"),
        worlds.node("n2", "10.0.0.2"),
        worlds.node("n3", "10.0.0.3"),
        worlds.node("n4", "10.0.0.3"),
    ]
)
NAN, INF = math.nan, math.inf


def _metric(**changes: object) -> checked.CheckedMetric:
    (metric,) = worlds.metrics()
    return dataclasses.replace(metric, **changes)  # type: ignore[arg-type]  # by name


def _answer(
    series: list[tuple[str, float | None]], measured: dict[str, float | None] | None = None
) -> answers.InstantVector:
    if measured is None:
        measured = {name: EVALUATED - 2 for name, _ in series}
    return answers.InstantVector(
        tuple(
            answers.InstantVectorSample({"instance": name}, value, EVALUATED)
            for name, value in series
        ),
        tuple(
            answers.InstantVectorSample({"instance": name}, value, EVALUATED)
            for name, value in measured.items()
        ),
        EVALUATED,
    )


def _join(
    answer: answers.InstantVector, *, has_freshness: bool = True, **changes: object
) -> object:
    found = series_node_join.join_instant_vector(
        answer, _metric(**changes), NAMES, NOW, has_freshness=has_freshness
    )
    samples = {
        node: (sample.value, NOW - sample.measured_at_seconds)
        for node, sample in found.samples.items()
    }
    return samples, found.without_value, {c.value: n for c, n in found.counts.items() if n}


@pytest.mark.parametrize(
    "answer, samples, without, counts",
    [
        pytest.param(
            _answer([("n1", 0.5), ("10.0.0.2:9100", 0.7)]),
            {"n1": (0.5, 2.0), "n2": (0.7, 2.0)},
            set(),
            {},
            id="fine",
        ),
        pytest.param(_answer([]), {}, set(), {"empty": 1}, id="empty"),
        pytest.param(
            _answer([("n1", 0.5), ("10.0.0.1:9100", 0.7)]),
            {},
            {"n1"},
            {"duplicate": 1},
            id="two-series-of-a-node",
        ),
        pytest.param(
            _answer([("n1", 0.5), ("n1", 0.5)]), {}, {"n1"}, {"duplicate": 1}, id="equal-series"
        ),
        pytest.param(
            _answer([("10.0.0.3:9100", 0.5), ("n3", 0.1)]),
            {"n3": (0.1, 2.0)},
            set(),
            {"ambiguous": 1},
            id="ambiguous",
        ),
        pytest.param(_answer([("x", 0.5)]), {}, set(), {"unmatched": 1}, id="unmatched"),
        pytest.param(_answer([("", 0.5)]), {}, set(), {"unlabelled": 1}, id="empty-label"),
        pytest.param(_answer([("n1", NAN)]), {}, {"n1"}, {"non_finite": 1}, id="nan"),
        pytest.param(_answer([("n1", INF)]), {}, {"n1"}, {"non_finite": 1}, id="inf"),
        pytest.param(_answer([("n1", -INF)]), {}, {"n1"}, {"non_finite": 1}, id="minus-inf"),
        pytest.param(_answer([("n1", None)]), {}, {"n1"}, {"unusable": 1}, id="histogram"),
        pytest.param(
            _answer([("n1", -0.5), ("n2", 1.5)]),
            {"n1": (-0.5, 2.0), "n2": (1.5, 2.0)},
            set(),
            {"out_of_range": 2},
            id="out-of-range",
        ),
        pytest.param(
            _answer([("n1", 0.5)], {"n1": EVALUATED - 61}),
            {"n1": (0.5, 61.0)},
            set(),
            {"stale": 1},
            id="old",
        ),
        pytest.param(_answer([("n1", 0.5)], {}), {}, set(), {"stale": 1}, id="no-time"),
        pytest.param(_answer([("n1", 0.5)], {"n1": 0.0}), {}, set(), {"stale": 1}, id="long-ago"),
        pytest.param(_answer([("n1", 0.5)], {"n1": NAN}), {}, set(), {"stale": 1}, id="nan-time"),
        pytest.param(_answer([("n1", 0.5)], {"n1": INF}), {}, set(), {"stale": 1}, id="inf-time"),
        pytest.param(_answer([("n1", 0.5)], {"n1": None}), {}, set(), {"stale": 1}, id="bad-time"),
        pytest.param(
            _answer([("n1", 0.5)], {"n1": EVALUATED + 500}),
            {"n1": (0.5, 0.0)},
            set(),
            {},
            id="from-the-future",
        ),
    ],
)
def test_each_series_has_a_rule(
    answer: answers.InstantVector, samples: object, without: object, counts: object
) -> None:
    """A node gets the one value that is surely its own, with its age, or none; all is counted."""
    assert _join(answer, low=0.0, high=1.0) == (samples, without, counts)


def test_a_series_without_the_label_is_of_no_node() -> None:
    """Aggregations drop labels."""
    answer = answers.InstantVector(
        (answers.InstantVectorSample({"job": "n1"}, 0.5, EVALUATED),), (), EVALUATED
    )
    assert _join(answer) == ({}, set(), {"unlabelled": 1})


def test_without_times_the_query_is_when_it_was_measured() -> None:
    """That is all that is known then, and it is counted."""
    found = _join(_answer([("n1", 0.5)], {}), has_freshness=False)
    assert found == ({"n1": (0.5, 0.0)}, set(), {"untimed": 1})


def test_remarks_are_counted() -> None:
    """A partial answer is used for the nodes that it names."""
    answer = dataclasses.replace(
        _answer([("n1", 0.5)]), warnings=("a", "b"), infos=("c",), is_partial=True
    )
    assert _join(answer) == ({"n1": (0.5, 2.0)}, set(), {"warning": 1, "info": 1, "partial": 1})


_LABELS = st.sampled_from(["n1", "n2", "n3", "10.0.0.1:9100", "10.0.0.3", "", "x"])
_NUMBERS = st.none() | st.floats()
_ANSWERS = st.builds(
    _answer,
    st.lists(st.tuples(_LABELS, _NUMBERS), max_size=6),
    st.dictionaries(_LABELS, _NUMBERS | st.floats(EVALUATED - 100, EVALUATED)),
)


@given(answers_=st.lists(_ANSWERS, max_size=4), has_freshness=st.booleans())
def test_no_sample_is_made_up(answers_: list[answers.InstantVector], has_freshness: bool) -> None:
    """After any answers each sample is finite, past, and the only value some answer had."""
    kept = latest_samples.LatestSamples()
    for number, answer in enumerate(answers_):
        now = NOW + 10 * number
        joined = series_node_join.join_instant_vector(
            answer, _metric(), NAMES, now, has_freshness=has_freshness
        )
        assert not joined.samples.keys() & joined.without_value
        kept.update_samples(joined, NAMES, now, MAX_AGE)
        assert not kept.samples.keys() & joined.without_value
        given_values = {
            (node, series.value)
            for each in answers_[: number + 1]
            for series in each.series
            for node in NAMES.find_nodes(series.labels["instance"])
        }
        for node, sample in kept.samples.items():
            assert math.isfinite(sample.value)
            assert math.isfinite(sample.measured_at_seconds)
            assert sample.measured_at_seconds <= now
            assert (node, sample.value) in given_values


@pytest.mark.parametrize("back, value", [(3600.0, 0.9), (5.0, 0.9), (0.5, 0.5)])
def test_a_clock_that_is_set_back_blocks_nothing(back: float, value: float) -> None:
    """What was kept lies in the future then, unless it was a mere correction."""
    kept = latest_samples.LatestSamples()
    samples = {name: metric_table.Sample(0.5, NOW) for name in ("n1", "n2")}
    kept.update_samples(series_node_join.NodeSamples(dict(samples)), NAMES, NOW, MAX_AGE)
    now = NOW - back
    new = {"n1": metric_table.Sample(0.9, now - 2)}
    kept.update_samples(series_node_join.NodeSamples(new), NAMES, now, MAX_AGE)
    assert kept.samples["n1"].value == value
    assert all(each.measured_at_seconds <= now + 1 for each in kept.samples.values())


def test_an_older_sample_does_not_replace_a_newer_one() -> None:
    """A replica that lags, or a time that was found less exactly, brings nothing new."""
    kept = latest_samples.LatestSamples()

    def take(value: float, age: float, at: float) -> None:
        answer = _answer([("n1", value)], {"n1": EVALUATED - age})
        kept.update_samples(
            series_node_join.join_instant_vector(answer, _metric(), NAMES, at, has_freshness=True),
            NAMES,
            at,
            MAX_AGE,
        )

    take(0.5, 2, NOW)
    take(0.9, 30, NOW + 10)
    assert kept.samples["n1"].value == 0.5
    take(0.7, 12.5, NOW + 10)  # the same scrape, half a second off
    assert kept.samples["n1"].value == 0.7
