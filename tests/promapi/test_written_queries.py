"""The queries of policies/ and docs/metrics.md are asked with the times of measurement."""

from __future__ import annotations

import pytest

from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.checking import checker
from policysched.promql import freshness
from tests.lang import test_language_doc
from tests.policies import shipped


def _metrics() -> list[checked.CheckedMetric]:
    texts = [
        [source.SourceText(file.name, file.read_text(encoding="utf-8"))] for file in shipped.FILES
    ]
    texts += [
        [source.SourceText("metrics.md", each.text)]
        for each in test_language_doc.examples("metrics.md")
    ]
    programs = [checker.check(text).program for text in texts]
    return [m for program in programs if program for m in program.metrics]


METRICS = _metrics()


@pytest.mark.parametrize("metric", METRICS, ids=[metric.name for metric in METRICS])
def test_the_age_of_its_samples_is_known(metric: checked.CheckedMetric) -> None:
    """Nothing that we recommend counts as measured when it was asked for."""
    asked = freshness.add_freshness(metric.promql, metric.label, metric.max_age_seconds)
    assert asked.problem == ""
    assert asked.has_freshness
