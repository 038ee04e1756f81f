"""Cases of extenders given to kube-scheduler and to policysched, and compared."""

from __future__ import annotations

import asyncio
import dataclasses
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from tests.conformance import compare as differences
from tests.conformance import oracle_process
from tests.conformance.extenders import compare, generate, outcomes, rows, script, server

Json = script.Json
Extend: TypeAlias = Callable[[Json], Awaitable[list[outcomes.PodOutcome]]]
"""A scheduler: it tries each pending pod of a case once and asks the extenders of the case."""


@dataclasses.dataclass(slots=True)
class Tally:
    """What has been compared.

    Attributes:
        rows: how many cases reach each row.
        failures: the differences of each case that has some, by its name.
    """

    cases: int = 0
    pods: int = 0
    requests: int = 0
    rows: Counter[str] = dataclasses.field(default_factory=Counter)
    failures: dict[str, list[differences.Difference]] = dataclasses.field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Add what another process has compared."""
        self.cases += other.cases
        self.pods += other.pods
        self.requests += other.requests
        self.rows += other.rows
        self.failures |= other.failures


class Judge:
    """Both schedulers and the server of their extenders."""

    def __init__(
        self, oracle: oracle_process.Oracle, extenders: server.ExtenderServer, extend: Extend
    ) -> None:
        """Compare kube-scheduler with `extend`; both ask `extenders`, one after the other."""
        self._oracle = oracle
        self._extenders = extenders
        self._extend = extend

    def compare_cases(self, seed: int, numbers: Iterable[int]) -> Tally:
        """Return what comes of generated cases."""
        tally = Tally()
        for number in numbers:
            case = self.normalised(generate.case(seed, number))
            theirs = self.ask_kube_scheduler(case)
            found = self.find_differences(case, theirs)
            tally.cases += 1
            tally.pods += len(theirs.outcomes)
            tally.requests += len(theirs.exchanges)
            tally.rows.update(rows.reached(case, theirs))
            if found:
                tally.failures[case["name"]] = found
        return tally

    def normalised(self, case: Json) -> Json:
        """Return a case whose objects are as an API server serves them, zero values included."""
        answer = self._oracle.ask(case["cluster"], oracle_process.NORMALIZE)
        return {**case, "cluster": answer["cluster"]}

    def find_differences(self, case: Json, theirs: compare.Run) -> list[differences.Difference]:
        """Return in what policysched differs from kube-scheduler; a crash is a difference."""
        try:
            ours = self.ask_policysched(case)
        except Exception as error:  # noqa: BLE001 - a crash is what tests look for
            what = f"policysched raises {type(error).__name__}"
            trace = "".join(traceback.format_exception(error))
            return [differences.Difference(what, "", trace, "")]
        return list(compare.find_differences(ours, theirs))

    def ask_kube_scheduler(self, case: Json) -> compare.Run:
        """Return what kube-scheduler makes of a normalised case."""
        self._extenders.begin(case)
        config = server.located(case, self._extenders.url)["config"]
        answer = self._oracle.ask(case["cluster"], oracle_process.EXTEND, config=config)
        made = [outcomes.PodOutcome.from_oracle(each) for each in answer["extend"]]
        return compare.Run(made, self._extenders.finish())

    def ask_policysched(self, case: Json) -> compare.Run:
        """Return what policysched makes of a normalised case."""
        self._extenders.begin(case)
        try:
            made = asyncio.run(self._run(server.located(case, self._extenders.url)))
        finally:
            exchanges = self._extenders.finish()
        return compare.Run(made, exchanges)

    async def _run(self, case: Json) -> list[outcomes.PodOutcome]:
        return await self._extend(case)
