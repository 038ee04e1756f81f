"""The series of an answer at several timestamps, or at one for an instant query."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from policysched.promapi import answers

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, slots=True)
class SampleMatrix:
    """S series at K times, including the series of measurement times.

    Attributes:
        labels: the labels of each series.
        is_freshness: for each series, whether its values are measurement times of another series.
        at_seconds: float64 (K,), ascending: times on the server's clock.
        is_there: bool (K, S), whether the answer for a time contains the series.
        is_number: bool (K, S), False for a native histogram or an invalid value.
        values: float64 (K, S), can be NaN or infinite; undefined if `is_number` is False.
        warnings, infos, is_partial: see `answers.InstantVector`.
    """

    labels: tuple[Mapping[str, str], ...]
    is_freshness: tuple[bool, ...]
    at_seconds: Floats
    is_there: Bools
    is_number: Bools
    values: Floats
    warnings: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()
    is_partial: bool = False


def convert_to_sample_matrix(answer: answers.InstantVector) -> SampleMatrix:
    """Convert an instant vector to a matrix with one time, or without times if it is empty."""
    all_series = (*answer.series, *answer.measured)
    evaluated_at = answer.evaluated_at_seconds
    times = np.array([] if evaluated_at is None else [evaluated_at], np.float64)
    shape = (len(times), len(all_series))
    numbers = [np.nan if each.value is None else each.value for each in all_series]
    is_number = np.array([each.value is not None for each in all_series], np.bool_)
    return SampleMatrix(
        tuple(each.labels for each in all_series),
        (False,) * len(answer.series) + (True,) * len(answer.measured),
        times,
        np.ones(shape, np.bool_),
        np.broadcast_to(is_number, shape),
        np.broadcast_to(np.array(numbers, np.float64), shape),
        answer.warnings,
        answer.infos,
        answer.is_partial,
    )
