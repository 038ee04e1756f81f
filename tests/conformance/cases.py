"""Recorded cases: clusters with what the real kube-scheduler 1.36.3 says about them.

`data/<family>.jsonl.gz` has a generated cluster a line: `cluster` (a v1 List), `verdict` (what the
real framework says of each pending pod considered alone), `place` (the pending pods scheduled one
after the other, ties to the smallest name) and, for preemption, `preempt`.
"""

from __future__ import annotations

import gzip
import json
import pathlib
from collections.abc import Iterator
from typing import Any

DATA = pathlib.Path(__file__).parent / "data"
FAMILIES = sorted(path.name.partition(".")[0] for path in DATA.glob("*.jsonl.gz"))
_ASKED = ("verdict", "place", "preempt")


def records(family: str) -> Iterator[dict[str, Any]]:
    """Yield the cases of a family, each with the answers of kube-scheduler and `ask`."""
    with gzip.open(DATA / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield {**record, "ask": [each for each in _ASKED if each in record]}
