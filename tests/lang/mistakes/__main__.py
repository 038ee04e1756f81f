"""Print the share of mistakes whose help leads to what was meant, and the rest.

python -m tests.lang.mistakes            # print
python -m tests.lang.mistakes --record   # write what is said of each mistake into its file
"""

from __future__ import annotations

import sys

from tests.lang import mistakes
from tests.lang.mistakes import recording


def main() -> None:
    """Follow the help of every mistake and print what it comes to, by origin."""
    if "--record" in sys.argv[1:]:
        recording.record()
    leading: dict[str, list[bool]] = {}
    rest: list[mistakes.Mistake] = []
    for mistake in mistakes.load_mistakes():
        leads = mistakes.leads_to_meaning(mistake)
        leading.setdefault(mistake.origin, []).append(leads)
        if not leads:
            rest.append(mistake)
    leading["all"] = [each for results in leading.values() for each in results]
    lines = [_line(origin, results) for origin, results in leading.items()]
    lines += [f"\n{each.name}: {_difference(each)}\n{_said(each)}" for each in rest]
    sys.stdout.write("\n".join(lines) + "\n")


def _line(origin: str, results: list[bool]) -> str:
    share = 100 * sum(results) / len(results)
    return f"{origin:12} {sum(results):4} of {len(results):4}  {share:5.1f} %"


def _difference(mistake: mistakes.Mistake) -> str:
    """Return the lines that differ."""
    written, meant = mistake.written.split("\n"), mistake.meant.split("\n")
    was = " / ".join(line.strip() for line in written if line not in meant)
    became = " / ".join(line.strip() for line in meant if line not in written)
    return f"{was}  →  {became}"


def _said(mistake: mistakes.Mistake) -> str:
    return "\n".join(f"  {each}" for each in mistakes.says(mistake))


if __name__ == "__main__":
    main()
