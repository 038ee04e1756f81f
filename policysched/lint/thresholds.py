"""Numeric limits of lint rules that a user can change."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Thresholds:
    """The limits; the setting for each field has the same name, with `-` instead of `_`.

    Attributes:
        max_query_samples: PS604: the number of samples that one query may read. Prometheus aborts a
            query at 50 million (--query.max-samples). The default is a tenth of that, because the
            query is repeated at every refresh.
        max_query_seconds: PS604: the time in seconds that the server may take to evaluate one
            query.
        min_range_scrapes: PS610: the number of scrape intervals that a range must contain, so that
            one failed scrape causes no gap.
        max_ratio: PS605: the largest value of a ratio that counts as a rounding error.
    """

    max_query_samples: float = 5_000_000
    max_query_seconds: float = 2.0
    min_range_scrapes: float = 4.0
    max_ratio: float = 1.05


DEFAULT = Thresholds()
