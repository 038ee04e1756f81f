"""Which rows of kube-scheduler's behaviour a case reaches: what extenders answered, and to whom.

`ROWS` is the list; `test_generate.py` holds the generator to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tests.conformance.extenders import compare, outcomes, script, server

Json = script.Json

_KINDS = ("status", "JSON", "timeout", "connection")
_BOTH = ("ignorable", "required")
ROWS = frozenset(
    (
        *(
            f"{v} fails: {k}, {b}"
            for v in ("filter", "preempt", "bind")
            for k in _KINDS
            for b in _BOTH
        ),
        *(f"{v} fails: Error, {b}" for v in ("filter", "bind") for b in _BOTH),
        *(f"filter fails: node that was not sent, {b}" for b in _BOTH),
        *(f"preempt fails: unknown {what}, {b}" for what in ("node", "pod") for b in _BOTH),
        *(f"preempt: node without victims, {b}" for b in _BOTH),
        *(f"prioritize fails: {k}" for k in _KINDS),
        *(f"{v}: {how}" for v in script.VERBS for how in ("spelling", "extra", "trailing", "null")),
        *(f"{v}: sent {form}" for v in script.VERBS[:3] for form in ("names", "objects")),
        *(
            f"filter: {f}"
            for f in ("fail", "unresolvable", "keep", "text about a node that was not sent")
        ),
        *(f"filter: answered {form}" for form in ("names", "nodes", "both", "neither")),
        "filter: fail and unresolvable",
        "filter: gone without text",
        "filter: second extender sees what the first left",
        "filter: none left, next extender not asked",
        "filter: error after an accepted extender",
        "filter: Extender among the plugins",
        "filter: preemption finds no victim to name",
        "nomination: accepted",
        "nomination: rejected, then all nodes",
        "nomination: error, then all nodes",
        "nomination: cleared by an error",
        "prioritize: single node, not asked",
        "prioritize: several extenders",
        "prioritize: negative",
        "prioritize: over 10",
        "prioritize: huge",
        "prioritize: unknown node",
        "prioritize: node without score",
        "preempt: victims changed",
        "preempt: violations changed",
        "preempt: node dropped",
        "preempt: none left",
        "preempt: second extender sees what the first left",
        "preempt: error, nomination stays",
        "bind: by extender",
        "bind: by API although an extender failed",
        "bind: by API, no interested binder",
        "interest: requests",
        "interest: limits",
        "interest: init container",
        "interest: none",
        "ignoredByScheduler: bound without the resource",
    )
)


def reached(case: Json, run: compare.Run) -> set[str]:
    """Return the rows that a case reaches in kube-scheduler."""
    pods = {
        item["metadata"]["name"]: item
        for item in case["cluster"]["items"]
        if item["kind"] == "Pod" and not item["spec"].get("nodeName")
    }
    found: set[str] = set()
    for outcome in run.outcomes:
        name = outcome.pod.partition("/")[2]
        exchanges = [each for each in run.exchanges if compare.pod_of(each) == name]
        found |= set(_Attempt(case, pods[name], outcome, exchanges).rows())
    return found


def failure(exchange: server.Exchange) -> str | None:
    """Return what is wrong with an answer as a whole, None for nothing."""
    answer = exchange.answer
    if "hang" in answer:
        return "timeout"
    if "hang_up" in answer:
        return "connection"
    if "status" in answer:
        return "status"
    if "body" in answer:
        is_list = exchange.verb == script.PRIORITIZE
        return None if answer["body"] in {"null", "[]" if is_list else "{}"} else "JSON"
    return "Error" if answer.get("error") else None


class _Attempt:
    """One pod with all that was exchanged about it."""

    def __init__(
        self,
        case: Json,
        pod: Json,
        outcome: outcomes.PodOutcome,
        exchanges: Sequence[server.Exchange],
    ) -> None:
        self._extenders = case["config"]["extenders"]
        self._case = case
        self._pod = pod
        self._outcome = outcome
        self._exchanges = exchanges

    def rows(self) -> Iterator[str]:
        """Yield the rows that the attempt reaches."""
        for each in self._exchanges:
            yield from self._written(each)
            yield from self._failed(each)
            yield from _BY_VERB[each.verb](self, each)
        for former, later in itertools.pairwise(self._exchanges):
            yield from self._sequence(former, later)
        yield from self._nomination()
        yield from self._totals()
        yield from self._binding()
        yield from self._interest()
        if "Extender" in self._outcome.plugins:
            yield "filter: Extender among the plugins"
        if "expected at least one victim" in self._outcome.message and not self._of(script.PREEMPT):
            yield "filter: preemption finds no victim to name"

    def _of(self, verb: str) -> list[server.Exchange]:
        return [each for each in self._exchanges if each.verb == verb]

    def _how(self, exchange: server.Exchange) -> str:
        is_ignorable = self._extenders[exchange.extender].get("ignorable")
        return "ignorable" if is_ignorable else "required"

    # --- any call ---------------------------------------------------------------------------------

    def _written(self, exchange: server.Exchange) -> Iterator[str]:
        for how in ("spelling", "extra", "trailing"):
            if how in exchange.answer and not failure(exchange):
                yield f"{exchange.verb}: {how}"
        if exchange.answer.get("body") == "null":
            yield f"{exchange.verb}: null"
        if exchange.verb != script.BIND:
            fields = ("NodeNames", "NodeNameToMetaVictims")
            is_names = any(exchange.body.get(field) is not None for field in fields)
            yield f"{exchange.verb}: sent {'names' if is_names else 'objects'}"

    def _failed(self, exchange: server.Exchange) -> Iterator[str]:
        what = failure(exchange)
        if what and exchange.verb == script.PRIORITIZE:
            yield f"prioritize fails: {what}"
        elif what:
            yield f"{exchange.verb} fails: {what}, {self._how(exchange)}"

    def _sequence(self, former: server.Exchange, later: server.Exchange) -> Iterator[str]:
        if (former.verb, later.extender) == (later.verb, former.extender):
            return
        if former.verb == later.verb == script.FILTER and not failure(former):
            if failure(later) and self._how(later) == "required":
                yield "filter: error after an accepted extender"
            if set(script.names_sent(later.body)) < set(script.names_sent(former.body)):
                yield "filter: second extender sees what the first left"
        is_preempt = former.verb == later.verb == script.PREEMPT
        if is_preempt and script.victims_sent(former.body) != script.victims_sent(later.body):
            yield "preempt: second extender sees what the first left"

    # --- Filter -----------------------------------------------------------------------------------

    def _filter(self, exchange: server.Exchange) -> Iterator[str]:
        answer = exchange.answer
        if answer.get("add"):
            yield f"filter fails: node that was not sent, {self._how(exchange)}"
        if failure(exchange) or exchange.reply is None:
            return
        sent = set(script.names_sent(exchange.body))
        failed, unresolvable = answer.get("fail", {}), answer.get("unresolvable", {})
        for field, names in (("fail", failed), ("unresolvable", unresolvable)):
            if sent & set(names):
                yield f"filter: {field}"
            if set(names) - sent:
                yield "filter: text about a node that was not sent"
        if sent & set(failed) & set(unresolvable):
            yield "filter: fail and unresolvable"
        if sent & set(answer.get("keep", ())) & {*failed, *unresolvable}:
            yield "filter: keep"
        if sent & set(answer.get("drop", ())) - {*failed, *unresolvable, *answer.get("keep", ())}:
            yield "filter: gone without text"
        is_names = exchange.body["NodeNames"] is not None
        yield f"filter: answered {answer.get('form', 'names' if is_names else 'nodes')}"
        left = sent - {*answer.get("drop", ()), *failed, *unresolvable}
        if not left and self._is_last_filter(exchange) and self._has_later_filter(exchange):
            yield "filter: none left, next extender not asked"

    def _is_last_filter(self, exchange: server.Exchange) -> bool:
        return exchange is self._of(script.FILTER)[-1]

    def _has_later_filter(self, exchange: server.Exchange) -> bool:
        """Return whether an extender without a limit to some pods stands after this one."""
        place = self._order().index(exchange.extender)
        later = [self._extenders[other] for other in self._order()[place + 1 :]]
        return any("filterVerb" in each and "managedResources" not in each for each in later)

    def _order(self) -> list[int]:
        places = range(len(self._extenders))
        return sorted(places, key=lambda place: bool(self._extenders[place].get("ignorable")))

    def _nomination(self) -> Iterator[str]:
        nominated = self._pod.get("status", {}).get("nominatedNodeName")
        filters = self._of(script.FILTER)
        if not nominated:
            return
        if self._outcome.reason == "SchedulerError" and self._outcome.nominated == "":
            yield "nomination: cleared by an error"
        is_failed = any(map(failure, self._of(script.PREEMPT)))
        is_kept = self._outcome.nominated is None and "preemption: " in self._outcome.message
        if is_failed and is_kept:
            yield "preempt: error, nomination stays"
        if not filters or script.names_sent(filters[0].body) != [nominated]:
            return
        rounds = [each for each in filters if each.extender == filters[0].extender]
        if len(rounds) == 1 and self._outcome.node == nominated:
            yield "nomination: accepted"
        if len(rounds) > 1:
            is_error = any(failure(each) for each in filters[: filters.index(rounds[1])])
            yield f"nomination: {'error' if is_error else 'rejected'}, then all nodes"

    # --- Prioritize -------------------------------------------------------------------------------

    def _prioritize(self, exchange: server.Exchange) -> Iterator[str]:
        if "scores" not in exchange.answer:
            return
        scores = dict(exchange.answer["scores"])
        sent = script.names_sent(exchange.body)
        if "unknown" in scores:
            yield "prioritize: unknown node"
        if set(sent) - set(scores):
            yield "prioritize: node without score"
        for name, score in scores.items():
            if name not in sent:
                continue
            if score < 0:
                yield "prioritize: negative"
            if score > 10:
                yield "prioritize: huge" if score > 10**9 else "prioritize: over 10"

    def _totals(self) -> Iterator[str]:
        if len({each.extender for each in self._of(script.PRIORITIZE)}) > 1:
            yield "prioritize: several extenders"
        is_single = len(self._outcome.feasible) == 1
        prioritizers = [each for each in self._extenders if "prioritizeVerb" in each]
        if is_single and any("managedResources" not in each for each in prioritizers):
            yield "prioritize: single node, not asked"

    # --- Preempt ----------------------------------------------------------------------------------

    def _preempt(self, exchange: server.Exchange) -> Iterator[str]:
        answer, sent = exchange.answer, script.victims_sent(exchange.body)
        if failure(exchange) or exchange.reply is None:
            return
        for node, uids in answer.get("victims", {}).items():
            if node == "unknown":
                yield f"preempt fails: unknown node, {self._how(exchange)}"
            elif uids == ["unknown"]:
                yield f"preempt fails: unknown pod, {self._how(exchange)}"
            elif not uids:
                yield f"preempt: node without victims, {self._how(exchange)}"
            else:
                yield "preempt: victims changed"
        if set(answer.get("violations", {})) & set(sent):
            yield "preempt: violations changed"
        if set(answer.get("drop", ())) & set(sent):
            yield "preempt: node dropped"
        if "no candidate node for preemption" in self._outcome.message:
            yield "preempt: none left"

    # --- Bind, and who is asked -------------------------------------------------------------------

    def _bind(self, _: server.Exchange) -> Iterator[str]:
        yield from ()

    def _binding(self) -> Iterator[str]:
        asked = self._of(script.BIND)
        match self._outcome.binder:
            case "extender":
                yield "bind: by extender"
            case "api" if asked:
                yield "bind: by API although an extender failed"
            case "api" if any("bindVerb" in each for each in self._extenders):
                yield "bind: by API, no interested binder"

    def _interest(self) -> Iterator[str]:
        asked = {each.extender for each in self._exchanges}
        for place, extender in enumerate(self._extenders):
            for managed in extender.get("managedResources", ()):
                parts = list(_parts_with(self._pod["spec"], managed["name"]))
                yield from (f"interest: {part}" for part in parts if place in asked)
                if not parts and self._exchanges:
                    yield "interest: none"
                if parts and managed.get("ignoredByScheduler") and self._lacks(managed["name"]):
                    yield "ignoredByScheduler: bound without the resource"

    def _lacks(self, resource: str) -> bool:
        """Return whether the pod is bound to a node without the resource."""
        return self._outcome.is_bound and any(
            item["kind"] == "Node"
            and item["metadata"]["name"] == self._outcome.node
            and resource not in item["status"]["allocatable"]
            for item in self._case["cluster"]["items"]
        )


def _parts_with(spec: Json, resource: str) -> Iterator[str]:
    """Yield the parts of a pod that name a resource; of requests and limits, limits alone first."""
    for container in spec["containers"]:
        resources = container.get("resources", {})
        if resource in resources.get("limits", {}):
            yield "limits"
        if resource in resources.get("requests", {}):
            yield "requests"
    for container in spec.get("initContainers", ()):
        if resource in container.get("resources", {}).get("limits", {}):
            yield "init container"


_BY_VERB = {
    script.FILTER: _Attempt._filter,
    script.PRIORITIZE: _Attempt._prioritize,
    script.PREEMPT: _Attempt._preempt,
    script.BIND: _Attempt._bind,
}
