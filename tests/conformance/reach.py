"""What generated cases reach: the reasons kube-scheduler gives, and the lines of our plugins.

python -m tests.conformance.reach --cases 3000 --seed 1

prints how many verdicts have each reason, and every line of `policysched/plugins` that no case ran.
`test_reach.py` holds the generator to the reasons that docs/conformance.md lists.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
import types
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Self, TypeAlias

from tests.conformance import oracle_process, product, run
from tests.conformance.generate import families

Manifest = dict[str, Any]
Said: TypeAlias = tuple[str, str, str]
"""(plugin, code, reason with what differs from case to case left out)"""

PLUGINS = pathlib.Path(__file__).parents[2] / "policysched" / "plugins"
_QUOTED = re.compile(r'"[^"]*"|\b(?:default|prod|dev)/[\w.-]+|\[[^\]]*\]|\bv\d\b|aws://[\w-]+')
_COUNTED = re.compile(r"0/\d+ nodes are available: |\b\d+ (?=[A-Za-z])")
_UNPARSABLE = re.compile(r"(?<=Terms: |aints: )(?=values|\").*|(?<=got: ).*")
_RESOURCE = re.compile(r"(?<=Insufficient )[\w.-]+/[\w.-]+")
_DEVICE = re.compile(
    r"(?<=request )[ar]\d(?:/a\d)?|(?<=: class )\w+|(?<=device class )\w+|(?<=selector #)\d"
    r"|(?<=no such key: )\w+|(?<=resource pool )\S+|(?<=add device )\S+"
    r"|(?<=requested devices )\d+|(?<=claim=)[\w-]+(?=,|$)|(?<=message=).*"
)


_OWN = ("not eligible", "Preemption is not helpful", "No preemption victims")
NOMINATED = "a node is nominated"
OF_FILTER = "what Filter says of a node without the victims"


def template(reason: str) -> str:
    """Return a reason without names of objects."""
    for varying in (_UNPARSABLE, _QUOTED, _RESOURCE, _DEVICE):
        reason = varying.sub("…", reason)
    return reason


def said(theirs: Manifest) -> Iterator[Said]:
    """Yield every answer of every plugin in an answer of the oracle."""
    for preemption in theirs.get("preempt") or ():
        yield from _said_by_preemption(preemption)
    for binding in theirs.get("bind") or ():
        yield from _said_about_claims(binding)
    for verdict in theirs.get("verdict") or ():
        refusals = [verdict.get("gated"), verdict.get("prefilter")]
        if not verdict.get("prefilter"):
            refusals += verdict["nodes"].values()
        for refusal in refusals:
            if refusal and not refusal.get("ok"):
                for reason in refusal.get("reasons") or ():
                    yield refusal.get("plugin", ""), refusal.get("code", ""), template(reason)


def _said_by_preemption(answer: Manifest) -> Iterator[Said]:
    if answer["nominated"]:
        yield "DefaultPreemption", "Success", NOMINATED
    _, is_told, told = (answer.get("message") or "").partition("preemption: ")
    if is_told:
        reasons = _COUNTED.sub("", told).removesuffix(".").split(", ")
        for reason in reasons:
            is_own = reason.startswith(_OWN)
            yield "DefaultPreemption", "Unschedulable", reason if is_own else OF_FILTER


def _said_about_claims(answer: Manifest) -> Iterator[Said]:
    for point in (*answer["nodes"].values(), answer.get("preBind"), answer.get("postFilter")):
        refusal = point and point.get("refusal")
        for reason in refusal["reasons"] if refusal else ():
            yield "DynamicResources", refusal["code"], template(reason)


class Lines:
    """Notes which lines of the plugins run, by Python's own tracing."""

    def __init__(self) -> None:
        self.ran: defaultdict[str, set[int]] = defaultdict(set)

    def __enter__(self) -> Self:
        sys.settrace(self._on_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _on_call(self, frame: types.FrameType, event: str, arg: object) -> Any:
        del event, arg
        if not frame.f_code.co_filename.startswith(str(PLUGINS)):
            return None
        ran = self.ran[frame.f_code.co_filename]
        ran.add(frame.f_lineno)

        def on_line(frame: types.FrameType, event: str, arg: object) -> Any:
            del event, arg
            ran.add(frame.f_lineno)
            return on_line

        return on_line


def missing(path: pathlib.Path, ran: set[int]) -> dict[str, list[int]]:
    """Return the lines of each function of a file that never ran."""
    module = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    found = {}
    for name, code in _functions(module, ""):
        never = sorted(_lines(code) - ran)
        if never:
            found[name] = never
    return found


def _functions(code: types.CodeType, prefix: str) -> Iterator[tuple[str, types.CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            name = f"{prefix}{constant.co_name}"
            if constant.co_flags & 0x2:  # CO_NEWLOCALS: a function, not the body of a class
                yield name, constant
            yield from _functions(constant, f"{name}.")


def _lines(code: types.CodeType) -> set[int]:
    return {line for _, _, line in code.co_lines() if line} - {code.co_firstlineno}


def main() -> None:
    """Print what is reached."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.reach")
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    reasons: Counter[Said] = Counter()
    lines = Lines()
    with oracle_process.Oracle() as oracle, product.opened() as ours:
        for family, count in run.shares(list(families.FAMILIES), args.cases):
            for number in range(count):
                case = families.case(family, args.seed, number)
                theirs = oracle.ask(case["cluster"], *case["ask"], config=case.get("config"))
                reasons.update(said(theirs))
                with lines:
                    ours.answer(case)
    for (plugin, code, reason), count in sorted(reasons.items()):
        print(f"{count:8,}  {plugin or '-'}  {code}  {reason}")
    for path in sorted(PLUGINS.rglob("*.py")):
        for function, never in missing(path, lines.ran[str(path)]).items():
            print(f"{path.relative_to(PLUGINS)}:{function}: {', '.join(map(str, never))}")


if __name__ == "__main__":
    main()
