"""Numbers of rules that a user may want to be other ones."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Thresholds:
    """Where rules draw a line; each field is a setting of this name, with `-` for `_`.

    Attributes:
        max_query_samples: PS604: samples that one query may look at. Prometheus gives up at
            50 million (--query.max-samples); a tenth of it, every `refresh`, is a lot.
        max_query_seconds: PS604: how long the server may take to evaluate one query.
        min_range_scrapes: PS610: how many scrape intervals a range should hold, so that one scrape
            that fails is no gap.
        max_ratio: PS605: the largest value of a ratio that passes for rounding.
    """

    max_query_samples: float = 5_000_000
    max_query_seconds: float = 2.0
    min_range_scrapes: float = 4.0
    max_ratio: float = 1.05


DEFAULT = Thresholds()
