"""Damage to input: to values at paths of JSON and YAML, to text, and to bytes."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import yaml

from tests.lang import mutation as text_mutation

Value: TypeAlias = Any
"""A value of JSON."""

_RAW = re.compile(r"""["']?@raw(\d+)@["']?""")
RAW_TEXTS = (
    *("1e400", "-1e400", "1" * 5000, "-" + "9" * 5000, "1" + "0" * 400 + ".5", "0." + "0" * 500),
    *("1.0e+999", "NaN", "Infinity", "-Infinity", ".inf", ".nan", "1e", "01", "0x10", "-"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" + "0" * 40),
    *("18446744073709551616", "2147483648", "-2147483649", "1e308", "1e-400", "-0", "1_000"),
    *(
        '"\\ud800"',
        '"\\u0000"',
        '"\\u202e"',
        "'",
        '"',
        "{",
        "[",
        "]",
        "}",
        "*a",
        "&a 1",
        "!!set {}",
    ),
    *("[" * 200 + "]" * 200, '{"a":' * 150 + "1" + "}" * 150, "[" * 3000, "\x00", "null", ""),
    *('{"a": 1, "a": 2}', "<<: *a", "2026-01-01", "yes", "~", "|", "[&x [1], *x, *x]"),
)
"""Texts that take the place of a value; many are no JSON."""
NUMBERS = (
    *(0, 1, -1, 2, 100, 65535, 65536, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63 - 1, 2**63),
    *(-(2**63), -(2**63) - 1, 2**64, 10**30, -(10**30), 0.5, -0.5, 1e-9, 1e18, 1e308, -1e308),
)
TEXTS = (
    *("", " ", "a", "A", "-", ".", "/", "a/b", "a" * 300, "é", "中", "\u202e", "\u0000", "\n"),
    *("\x1b[31m", "🙂", "\ufeff", "\u00a0", "null", "true", "1", "-1", "0", "1.5", "1e3", "1e999"),
    *("9" * 400, "9" * 5000, "-5Gi", "1Ki", "100m", "1.5Gi", "1e-999", "10Ei", "9999999Ei", "NaN"),
    *("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "NoSchedule", "NoExecute"),
    *("PreferNoSchedule", "DoNotSchedule", "ScheduleAnyway", "Honor", "Ignore", "Always", "Never"),
    *("2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-13-40T99:99:99Z", "0001-01-01"),
    *("Running", "Pending", "Succeeded", "Failed", "default", "kube-system", "v1", "Node", "Pod"),
    *("15s", "1h30m", "-1s", "99999999999h", "80%", "1000%", "10Mi", "_", "stale", "missing"),
    *("Asia/Nowhere", "../../etc/passwd", "/dev/null", "http://[::bad", "http://127.0.0.1:9", "%s"),
    *("kubernetes.io/hostname", "topology.kubernetes.io/zone", "metadata.name", "${x}", "{{ x }}"),
)
_ODD: tuple[Callable[[], Value], ...] = (
    lambda: None,
    lambda: True,
    lambda: False,
    list,
    dict,
    lambda: [None],
    lambda: [[]],
    lambda: {"": ""},
    lambda: {"a": None},
    lambda: ["a", "a"],
    lambda: [{}],
)


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # C or not
    """Writes texts of several lines as literal blocks, as people do."""


def _represent_text(dumper: _Dumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)  # type: ignore[no-any-return]  # as above


_Dumper.add_representer(str, _represent_text)


class Damage:
    """Damages values and keeps the texts that JSON cannot say, for the writing."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._raw: list[str] = []

    def mutate(self, value: Value, others: list[Value]) -> Value:
        """Return a copy of a value with one to four changes at random paths."""
        box = [copy.deepcopy(value)]
        for _ in range(self.rng.choice((1, 1, 1, 2, 3, 4))):
            self._change(box, others)
        return box[0]

    def odd(self) -> Value:
        """Return a value that few expect."""
        kind = self.rng.random()
        if kind < 0.25:
            return self.rng.choice(NUMBERS)
        if kind < 0.55:
            return self.rng.choice(TEXTS)
        if kind < 0.75:
            self._raw.append(self.rng.choice(RAW_TEXTS))
            return f"@raw{len(self._raw) - 1}@"
        return self.rng.choice(_ODD)()

    def as_json(self, value: Value) -> str:
        """Write a value as JSON, in one of the ways in which it is written."""
        indent = self.rng.choice((None, None, 1, 4))
        return self._with_raw(json.dumps(value, indent=indent, ensure_ascii=False))

    def as_yaml(self, value: Value) -> str:
        """Write a value as YAML."""
        is_flow = self.rng.random() < 0.05
        plain = json.loads(json.dumps(value))  # without what PyYAML would write as aliases
        text = yaml.dump(plain, Dumper=_Dumper, sort_keys=False, default_flow_style=is_flow)
        return self._with_raw(text)

    def _with_raw(self, text: str) -> str:
        return _RAW.sub(lambda match: self._raw[int(match[1])], text)

    def _change(self, box: list[Value], others: list[Value]) -> None:
        places = list(_places(box))
        container, key = self.rng.choice(places)
        change = self.rng.choice(_CHANGES)
        change(self, container, key, others)

    def replace(self, container: Value, key: Value, _others: list[Value]) -> None:
        """Put an odd value in the place of one."""
        container[key] = self.odd()

    def replace_alike(self, container: Value, key: Value, others: list[Value]) -> None:
        """Put an odd value of the same type in the place of one."""
        value = container[key]
        if isinstance(value, str):
            container[key] = self.rng.choice(TEXTS)
        elif isinstance(value, int | float):
            container[key] = self.rng.choice(NUMBERS)
        else:
            self.delete(container, key, others)

    def delete(self, container: Value, key: Value, _others: list[Value]) -> None:
        """Leave a value out."""
        del container[key]
        if not container and isinstance(container, list):
            container.append(None)

    def repeat(self, container: Value, key: Value, _others: list[Value]) -> None:
        """Say a value again, beside itself or under another key."""
        copied = copy.deepcopy(container[key])
        if isinstance(container, list):
            container.insert(self.rng.randint(0, len(container)), copied)
        else:
            container[self.rng.choice(TEXTS)] = copied

    def wrap(self, container: Value, key: Value, _others: list[Value]) -> None:
        """Change the type of a value, and keep its content."""
        value = container[key]
        forms: tuple[Value, ...] = ([value], {"a": value}, str(value), json.dumps(value)[:2000])
        container[key] = self.rng.choice(forms)

    def graft(self, container: Value, key: Value, others: list[Value]) -> None:
        """Put a part of another input in the place of a value."""
        other, place = self.rng.choice(list(_places([self.rng.choice(others)])))
        container[key] = copy.deepcopy(other[place])

    def rename(self, container: Value, key: Value, _others: list[Value]) -> None:
        """Misspell a key, or write its value under that of a neighbour."""
        if isinstance(container, list):
            self.rng.shuffle(container)
            return
        neighbours = (key.upper(), f"{key}s", f" {key}", *TEXTS[:10], *container)
        container[self.rng.choice(neighbours)] = container.pop(key)

    def multiply(self, container: Value, key: Value, _others: list[Value]) -> None:
        """Say a value many times."""
        times = self.rng.choice((2, 10, 50))
        container[key] = [copy.deepcopy(container[key]) for _ in range(times)]


_CHANGES = (
    *(Damage.replace, Damage.replace, *(Damage.replace_alike,) * 5, Damage.delete, Damage.repeat),
    *(Damage.wrap,),
    *(Damage.graft, Damage.rename, Damage.multiply),
)


def _places(container: Value) -> list[tuple[Value, Value]]:
    """Return each value below `container` as the list or mapping around it and its key."""
    found: list[tuple[Value, Value]] = []
    waiting = [container]
    while waiting:
        outer = waiting.pop()
        keys = range(len(outer)) if isinstance(outer, list) else list(outer)
        for key in keys:
            found.append((outer, key))
            if isinstance(outer[key], dict | list):
                waiting.append(outer[key])
    return found


# --- text and bytes ------------------------------------------------------------------------------


def mutate_text(text: str, others: list[str], rng: random.Random) -> str:
    """Return a text with random edits of its words, or one of its lines."""
    if rng.random() < 0.7:
        return text_mutation.mutate(text, others, rng)
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    edit = rng.randrange(4)
    if edit == 0:
        del lines[at]
    elif edit == 1:
        lines.insert(at, rng.choice(rng.choice(others).split("\n")))
    elif edit == 2:
        lines[at] = " " * rng.randint(0, 8) + lines[at].strip()
    else:
        head, colon, _ = lines[at].partition(":")
        lines[at] = f"{head}{colon} {rng.choice((*RAW_TEXTS, *TEXTS))}"
    return "\n".join(lines)


def mutate_bytes(content: bytes, rng: random.Random) -> bytes:
    """Return damaged bytes: cut, flipped, in another encoding, with what is no UTF-8."""
    at = rng.randint(0, len(content))
    edits: tuple[Callable[[], bytes], ...] = (
        lambda: content[:at],
        lambda: content[at:],
        lambda: content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :],
        lambda: content[:at] + rng.choice(_BYTES) + content[at:],
        lambda: b"\xef\xbb\xbf" + content,
        lambda: content.replace(b"\n", b"\r\n"),
        lambda: content.replace(b"\n", b"\r"),
        lambda: content.decode("utf-8", "replace").encode("utf-16"),
        lambda: content + content,
        lambda: b"",
    )
    return rng.choice(edits)()


_BYTES = (
    b"\xff",
    b"\x00",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\x1b[2J",
    b"\x85",
    b"\t",
)
