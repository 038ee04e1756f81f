"""Generated expressions and devices: mostly well typed, sometimes with a wrong type.

An expression is made from the top: a function for each type chooses an operation whose result has
that type, and makes its operands. Attributes have unknown types, so they may stand anywhere, and
fail for some of the devices.

Left out are operations whose results depend on an aliasing bug of the original: `add`, `sub` and
comparisons change a quantity in place if Go keeps it, or its operand, as a decimal (`1.5Gi`).
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any, Final

DRIVER: Final = "gpu.example.com"
_DOMAINS: Final = (DRIVER, "net.example.com", "unknown.example.com")
_IDENTIFIERS: Final = ("model", "index", "healthy", "firmware", "memory", "address", "missing")
_TEXTS: Final = ("", "a", "A100", "a-b-c", "1.2.3", "7", "1Gi", "gpu", "é", "10.0.0.1", "true")
_PATTERNS: Final = ("a", "^A", "[0-9]+$", "a*", "(", "b|c", "^$", "\\\\d+", "(?i)a100", "a{2,3}")
_INTS: Final = ("0", "1", "2", "7", "-1", "100", "9223372036854775807", "-9223372036854775808")
_DOUBLES: Final = ("0.0", "1.0", "1.5", "-2.5", "7.0", "1e3", "1e300")
_VERSIONS: Final = ("1.2.3", "1.2.3-rc.1", "1.2.3+build", "2.0.0", "0.9.10", "10.0.0-alpha.2")
_LOOSE_VERSIONS: Final = ("v1.2", "1", "01.2.3", "1.2", "x", "1.2.3.4", "")
_QUANTITIES: Final = ("1Gi", "1G", "500m", "1500m", "2", "0", "40Gi", "1e3", "-5", "1073741824")
_LONG_QUANTITIES: Final = ("1.5Gi", "1.25", "9223372036854775808", "0.0000000001", "x", "1Q", "")
_ADDRESSES: Final = ("10.0.0.1", "127.0.0.1", "::1", "fe80::1", "224.0.0.1", "::ffff:1.2.3.4", "x")
_NETWORKS: Final = ("10.0.0.0/8", "10.1.2.3/16", "::/0", "fe80::/10", "1.2.3.4/33", "x")
_URLS: Final = (
    "https://a.example.com:8080/x%20y?k=1&k=2#f",
    "http://[::1]:80/p",
    "/only/path",
    "mailto:x",
    "a",
    "http://a b/",
)
_DURATIONS: Final = ("1h", "90s", "1.5h", "-3m", "0", "1h1m1s1ms")
_TIMESTAMPS: Final = ("2026-01-31T08:00:00Z", "1999-12-31T23:59:59.5+01:00")
_FORMATS: Final = (
    "dns1123Label",
    "dns1123Subdomain",
    "qualifiedName",
    "labelValue",
    "uuid",
    "date",
)
_ORDERED: Final = ("int", "double", "string", "bool", "uint")
_SIMPLE: Final = (*_ORDERED, "semver", "quantity")
_WRONG_TYPE_SHARE: Final = 0.02


@dataclasses.dataclass(frozen=True)
class Case:
    """An expression, and devices in the form of a ResourceSlice."""

    expression: str
    devices: list[dict[str, Any]]


def make_case(rng: random.Random, device_count: int) -> Case:
    """Return an expression and this number of devices."""
    expression = _Writer(rng).write("bool", rng.choice((1, 2, 3, 4)))
    return Case(expression, [make_device(rng) for _ in range(device_count)])


def make_device(rng: random.Random) -> dict[str, Any]:
    """Return a device whose attributes have any type."""
    names = [
        rng.choice(("", f"{rng.choice(_DOMAINS[:2])}/")) + identifier
        for identifier in _IDENTIFIERS[:-1]
        if rng.random() < 0.8
    ]
    return {
        "driver": DRIVER,
        "allowMultipleAllocations": rng.random() < 0.5,
        "attributes": {name: _make_attribute(rng, name) for name in names},
        "capacity": {
            name: {"value": rng.choice(_QUANTITIES)}
            for name in ("memory", "net.example.com/bandwidth")
            if rng.random() < 0.8
        },
    }


def _make_attribute(rng: random.Random, name: str) -> dict[str, Any]:
    usual = {"index": "int", "healthy": "bool", "firmware": "version"}
    kind = usual.get(name.rpartition("/")[2], "string")
    if rng.random() < 0.2:
        kind = rng.choice(("int", "bool", "version", "string"))
    values: dict[str, Any] = {
        "int": rng.choice((0, 1, 2, 7, 100, -1, 2**63 - 1)),
        "bool": rng.random() < 0.5,
        "version": rng.choice(_VERSIONS),
        "string": rng.choice(_TEXTS),
    }
    return {kind: values[kind]}


def _quote(text: str) -> str:
    return f'"{text}"'


class _Writer:
    """Writes one expression; keeps the variables that are in scope, by type."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._variables: list[tuple[str, str]] = []

    def write(self, kind: str, depth: int) -> str:
        """Return an expression of a type, with operations nested so deep."""
        rng = self._rng
        if rng.random() < _WRONG_TYPE_SHARE:
            kind = rng.choice((*_SIMPLE, "any", "list", "duration", "bytes"))
        known = [name for name, own in self._variables if own == kind]
        if known and rng.random() < 0.5:
            return rng.choice(known)
        if kind != "bool" and rng.random() < 0.15:
            return self._attribute()
        if depth <= 0 or (kind != "bool" and rng.random() < 0.2):
            return self._write_leaf(kind)
        options = _OPERATIONS[kind] if rng.random() < 0.85 else _GENERIC
        return rng.choice(options)(self, kind, depth - 1)

    def one_of(self, texts: tuple[str, ...]) -> str:
        """Return one of some texts."""
        return self._rng.choice(texts)

    def pick_kind(self, kinds: tuple[str, ...] = _SIMPLE) -> str:
        """Return one of some types."""
        return self._rng.choice(kinds)

    def fill(self, template: str, depth: int, *kinds: str) -> str:
        """Return the template with an expression of each type."""
        return template.format(*(self.write(kind, depth) for kind in kinds))

    def write_list(self, kind: str, depth: int) -> str:
        """Return a list of elements of a type."""
        count = self._rng.choice((0, 1, 2, 3))
        return f"[{', '.join(self._write_constant_or(kind, depth) for _ in range(count))}]"

    def write_loop(self, template: str, kind: str, depth: int, *results: str) -> str:
        """Return a macro over a list, whose body may read the variable."""
        items = self.write_list(kind, depth)
        name = self._rng.choice("xyz")
        self._variables.append((name, kind))
        parts = [self.write(result, depth) for result in results]
        self._variables.pop()
        return template.format(items, name, *parts)

    def write_bind(self, kind: str, depth: int) -> str:
        """Return a `cel.bind` of a variable of any type."""
        own = self.pick_kind()
        value, name = self.write(own, depth), self._rng.choice("uvw")
        self._variables.append((name, own))
        body = self.write(kind, depth)
        self._variables.pop()
        return f"cel.bind({name}, {value}, {body})"

    def write_map(self, kind: str, depth: int) -> str:
        """Return a map literal from strings."""
        keys = self._rng.sample(("a", "b", "c"), self._rng.choice((1, 2)))
        pairs = (f'"{key}": {self._write_constant_or(kind, depth)}' for key in keys)
        return f"{{{', '.join(pairs)}}}"

    def _write_constant_or(self, kind: str, depth: int) -> str:
        is_constant = self._rng.random() < 0.6
        return self._write_leaf(kind) if is_constant else self.write(kind, depth)

    def attribute_of(self, domain: str) -> str:
        """Return the attributes of a domain."""
        return f'device.attributes["{domain}"]'

    def _attribute(self) -> str:
        rng = self._rng
        name = rng.choice(_IDENTIFIERS)
        base = self.attribute_of(rng.choice((DRIVER, DRIVER, *_DOMAINS)))
        return rng.choice((f"{base}.{name}", f'{base}["{name}"]'))

    def _write_leaf(self, kind: str) -> str:
        rng = self._rng
        leaf: dict[str, Callable[[], str]] = {
            "bool": lambda: rng.choice(
                ("true", "false", "device.allowMultipleAllocations", self._attribute())
            ),
            "int": lambda: rng.choice(_INTS),
            "uint": lambda: rng.choice(("0u", "1u", "7u", "18446744073709551615u")),
            "double": lambda: rng.choice(_DOUBLES),
            "string": lambda: rng.choice((_quote(rng.choice(_TEXTS)), "device.driver")),
            "bytes": lambda: rng.choice(('b"a"', 'b"\\xff"', 'b""')),
            "semver": lambda: f"semver({_quote(rng.choice(_VERSIONS))})",
            "quantity": lambda: rng.choice(
                (
                    f"quantity({_quote(rng.choice(_QUANTITIES))})",
                    f'device.capacity["{DRIVER}"].memory',
                    'device.capacity["net.example.com"].bandwidth',
                )
            ),
            "any": self._attribute,
            "list": lambda: self.write_list("int", 0),
            "ip": lambda: f"ip({_quote(rng.choice(_ADDRESSES))})",
            "cidr": lambda: f"cidr({_quote(rng.choice(_NETWORKS))})",
            "url": lambda: f"url({_quote(rng.choice(_URLS))})",
            "duration": lambda: f"duration({_quote(rng.choice(_DURATIONS))})",
            "timestamp": lambda: f"timestamp({_quote(rng.choice(_TIMESTAMPS))})",
        }
        return leaf[kind]()


_Operation = Callable[[_Writer, str, int], str]


def _use(template: str, *kinds: str) -> _Operation:
    """Return the operation that fills a template with operands of these types."""
    return lambda writer, _kind, depth: writer.fill(template, depth, *kinds)


def _use_same(template: str, kinds: tuple[str, ...] = _SIMPLE, count: int = 2) -> _Operation:
    """Return the operation on operands of one type, whichever."""

    def write(writer: _Writer, _kind: str, depth: int) -> str:
        own = writer.pick_kind(kinds)
        return writer.fill(template, depth, *[own] * count)

    return write


def _use_texts(template: str, texts: tuple[str, ...], *kinds: str) -> _Operation:
    """Return the operation whose last operand is one of some constants."""

    def write(writer: _Writer, _kind: str, depth: int) -> str:
        text = writer.one_of(texts).replace("{", "{{").replace("}", "}}")
        return writer.fill(template.replace("@", text), depth, *kinds)

    return write


def _use_loop(template: str, kinds: tuple[str, ...], *results: str) -> _Operation:
    """Return the operation of a macro over a list."""
    return lambda writer, _kind, depth: writer.write_loop(
        template, writer.pick_kind(kinds), depth, *results
    )


def _use_list(template: str, kinds: tuple[str, ...], *others: str) -> _Operation:
    """Return the operation on a list; `same` among the others is the type of its elements."""

    def write(writer: _Writer, _kind: str, depth: int) -> str:
        own = writer.pick_kind(kinds)
        parts = [writer.write(own if other == "same" else other, depth) for other in others]
        return template.format(writer.write_list(own, depth), *parts)

    return write


def _use_lists(template: str) -> _Operation:
    """Return the operation on two lists of one type."""

    def write(writer: _Writer, _kind: str, depth: int) -> str:
        own = writer.pick_kind()
        return template.format(writer.write_list(own, depth), writer.write_list(own, depth))

    return write


def _write_conditional(writer: _Writer, kind: str, depth: int) -> str:
    return writer.fill("({} ? {} : {})", depth, "bool", kind, kind)


def _write_bind(writer: _Writer, kind: str, depth: int) -> str:
    return writer.write_bind(kind, depth)


def _write_optional(writer: _Writer, kind: str, depth: int) -> str:
    base = writer.attribute_of(writer.one_of(_DOMAINS))
    name = writer.one_of(_IDENTIFIERS)
    chain = writer.one_of((f"{base}.?{name}", f'{base}[?"{name}"]', f"optional.of({base}.{name})"))
    return f"{chain}.orValue({writer.write(kind, depth)})"


def _write_own_optional(writer: _Writer, kind: str, depth: int) -> str:
    optional = writer.one_of(("optional.none()", "optional.of({})", "optional.ofNonZeroValue({})"))
    return writer.fill(optional + ".orValue({})", depth, kind, kind)


def _write_element(writer: _Writer, kind: str, depth: int) -> str:
    if kind == "list":
        return writer.write_list("int", depth)
    index = writer.one_of(("0", "1", "2"))
    choices = (
        f"{writer.write_list(kind, depth)}[{index}]",
        f"{writer.write_map(kind, depth)}.{writer.one_of(('a', 'b'))}",
        f"{writer.write_list(kind, depth)}[?{index}].orValue({writer.write(kind, depth)})",
        f"{writer.write_list(kind, depth)}.first().value()",
        f"{writer.write_list(kind, depth)}.last().value()",
    )
    return writer.one_of(choices)


def _write_opaque(writer: _Writer, kind: str, depth: int) -> str:
    return f"dyn({writer.write(kind, depth)})"


_GENERIC: Final[tuple[_Operation, ...]] = (
    _write_conditional,
    _write_bind,
    _write_optional,
    _write_own_optional,
    _write_element,
    _write_opaque,
)
_BOOL: Final[tuple[_Operation, ...]] = (
    *[_use("({} && {})", "bool", "bool"), _use("({} || {})", "bool", "bool")] * 3,
    *[_use_same("({} == {})"), _use_same("({} != {})")] * 3,
    _use("({} == {})", "any", "any"),
    *[_use_texts("({} @ {})", ("<", "<=", ">", ">="), kind, kind) for kind in _ORDERED],
    _use_texts("({} @ {})", ("<", ">", "==", "!="), "int", "double"),
    _use("(dyn({}) == {})", "int", "double"),
    _use("!{}", "bool"),
    _use_list("({1} in {0})", _SIMPLE, "same"),
    _use_list("({1} in dyn({0}))", _SIMPLE, "any"),
    lambda writer, _kind, depth: (
        f"({writer.write('string', depth)} in {writer.write_map('int', depth)})"
    ),
    lambda writer, _kind, _depth: (
        f"has({writer.attribute_of(writer.one_of(_DOMAINS))}.{writer.one_of(_IDENTIFIERS)})"
    ),
    lambda writer, _kind, _depth: (
        f'("{writer.one_of(_IDENTIFIERS)}" in {writer.attribute_of(writer.one_of(_DOMAINS))})'
    ),
    *[
        _use(f"{{}}.{name}({{}})", "string", "string")
        for name in ("contains", "startsWith", "endsWith")
    ],
    _use_texts('{}.matches("@")', _PATTERNS, "string"),
    _use("{}.matches({})", "string", "string"),
    *[
        _use_loop(template, _SIMPLE, "bool")
        for template in (
            "{}.all({}, {})",
            "{}.exists({}, {})",
            "{}.exists_one({}, {})",
            "{}.all(i, {}, {})",
            "{}.existsOne(i, {}, {})",
        )
    ],
    _use_lists("sets.contains({}, {})"),
    _use_lists("sets.equivalent({}, {})"),
    _use_lists("sets.intersects({}, {})"),
    _use_lists("({} == {})"),
    _use_list("{}.isSorted()", _ORDERED),
    _use_list("{}.includes({})", _SIMPLE, "same"),
    _use("{}.includes({})", "any", "any"),
    *[_use(f"{{}}.{name}({{}})", "semver", "semver") for name in ("isLessThan", "isGreaterThan")],
    *[
        _use(f"{{}}.{name}({{}})", "quantity", "quantity")
        for name in ("isLessThan", "isGreaterThan")
    ],
    _use("{}.isGreaterThan({})", "any", "any"),
    _use("isSemver({})", "string"),
    _use_texts('isSemver("@", {})', (*_VERSIONS, *_LOOSE_VERSIONS), "bool"),
    _use("isQuantity({})", "string"),
    _use_texts('isQuantity("@")', (*_QUANTITIES, *_LONG_QUANTITIES)),
    _use_texts('quantity("@").isInteger()', (*_QUANTITIES, *_LONG_QUANTITIES)),
    _use_texts('(quantity("@") == {})', _LONG_QUANTITIES, "quantity"),
    _use_texts('isIP("@")', _ADDRESSES),
    _use_texts('isCIDR("@")', _NETWORKS),
    _use_texts('isURL("@")', _URLS),
    _use_texts(
        "{}.@()",
        ("isLoopback", "isUnspecified", "isGlobalUnicast", "isLinkLocalUnicast"),
        "ip",
    ),
    _use("{}.containsIP({})", "cidr", "ip"),
    _use("{}.containsCIDR({})", "cidr", "cidr"),
    _use_texts("format.@().validate({}).hasValue()", _FORMATS, "string"),
    _use("(type({}) == type({}))", "any", "any"),
    _use_texts("(type({}) == @)", ("int", "string", "bool", "null_type"), "any"),
    _use("({} > {})", "duration", "duration"),
    _use("({} < {})", "timestamp", "timestamp"),
    _use("({} == null)", "any"),
    _use("{}", "any"),
)
_INT: Final[tuple[_Operation, ...]] = (
    *[_use_texts("({} @ {})", ("+", "-", "*", "/", "%"), "int", "int")] * 3,
    _use("-{}", "int"),
    _use("int({})", "double"),
    _use("int({})", "string"),
    _use("int({})", "uint"),
    _use("size({})", "string"),
    _use("{}.size()", "string"),
    _use_list("size({})", _SIMPLE),
    _use("{}.indexOf({})", "string", "string"),
    _use("{}.lastIndexOf({}, {})", "string", "string", "int"),
    _use_list("{}.indexOf({})", _SIMPLE, "same"),
    _use_list("{}.sum()", ("int",)),
    _use_list("{}.max()", ("int",)),
    _use_list("{}.min()", ("int",)),
    _use("{}.compareTo({})", "semver", "semver"),
    _use("{}.compareTo({})", "quantity", "quantity"),
    _use("{}.compareTo({})", "any", "quantity"),
    _use("{}.asInteger()", "quantity"),
    _use_texts('quantity("@").asInteger()', (*_QUANTITIES, *_LONG_QUANTITIES)),
    _use("sign({})", "quantity"),
    _use_texts("{}.@()", ("major", "minor", "patch"), "semver"),
    _use_texts('cidr("@").prefixLength()', _NETWORKS),
    _use("{}.family()", "ip"),
    _use_texts("{}.@()", ("getHours", "getMinutes", "getSeconds"), "duration"),
    _use_texts("{}.@()", ("getFullYear", "getMonth", "getDayOfWeek", "getHours"), "timestamp"),
)
_STRING: Final[tuple[_Operation, ...]] = (
    *[_use("({} + {})", "string", "string")] * 3,
    _use("string({})", "int"),
    _use("string({})", "double"),
    _use("string({})", "any"),
    _use("string({})", "duration"),
    _use("{}.substring({})", "string", "int"),
    _use("{}.substring({}, {})", "string", "int", "int"),
    _use("{}.charAt({})", "string", "int"),
    _use("{}.replace({}, {})", "string", "string", "string"),
    _use("{}.replace({}, {}, {})", "string", "string", "string", "int"),
    _use_texts("{}.@()", ("lowerAscii", "upperAscii", "trim"), "string"),
    _use("{}.split({}).join({})", "string", "string", "string"),
    _use("{}.split({}, {})[0]", "string", "string", "int"),
    _use_list("{}.join({})", ("string",), "string"),
    _use_texts('{}.find("@")', _PATTERNS, "string"),
    _use_texts('{}.findAll("@").join("|")', _PATTERNS, "string"),
    _use_texts('{}.findAll("@", {})[0]', _PATTERNS, "string", "int"),
    _use('"%s-%d".format([{}, {}])', "string", "int"),
    _use('"%s".format([dyn({})])', "any"),
    _use('"%.2f %s".format([{}, {}])', "double", "bool"),
    _use_list('"%s".format([{}])', ("int", "string", "bool")),
    _use("strings.quote({})", "string"),
    _use("string({})", "ip"),
    _use("string({})", "cidr"),
    _use_texts(
        "{}.@()", ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath"), "url"
    ),
    _use('{}.getQuery()["k"][0]', "url"),
    _use("{}[0]", "any"),
)
_LIST: Final[tuple[_Operation, ...]] = (
    _use_loop("{}.map({}, {})", _SIMPLE, "int"),
    _use_loop("{}.filter({}, {})", ("int",), "bool"),
    _use_loop("{}.map({}, {}, {})", _SIMPLE, "bool", "int"),
    _use_loop("{}.transformList(i, {}, {})", _SIMPLE, "int"),
    _use_loop("{}.sortBy({}, {})", ("int",), "int"),
    _use_list("{}.sort()", ("int",)),
    _use_list("{}.distinct()", ("int",)),
    _use_list("{}.reverse()", ("int",)),
    _use_list("{}.slice({}, {})", ("int",), "int", "int"),
    _use_list("[{}].flatten()", ("int",)),
    _use("lists.range({} % 10)", "int"),
    _use("({} + {})", "list", "list"),
)
_OPERATIONS: Final[dict[str, tuple[_Operation, ...]]] = {
    "bool": (*_BOOL, _use("({} == {})", "list", "list"), _use("({} in {})", "int", "list")),
    "int": _INT,
    "uint": (
        _use_texts("({} @ {})", ("+", "-", "*", "/", "%"), "uint", "uint"),
        _use("uint({})", "int"),
        _use("uint({})", "double"),
    ),
    "double": (
        _use_texts("({} @ {})", ("+", "-", "*", "/"), "double", "double"),
        _use("double({})", "int"),
        _use("double({})", "string"),
        _use("{}.asApproximateFloat()", "quantity"),
    ),
    "string": _STRING,
    "semver": (
        _use("semver({})", "string"),
        _use_texts('semver("@", {})', (*_VERSIONS, *_LOOSE_VERSIONS), "bool"),
    ),
    "quantity": (
        _use("quantity({})", "string"),
        _use_texts('quantity("@").add({})', _QUANTITIES, "quantity"),
        _use_texts('quantity("@").sub({})', _QUANTITIES, "int"),
    ),
    "any": _GENERIC,
    "bytes": (_use("bytes({})", "string"),),
    "list": _LIST,
    "ip": (_use_texts('ip("@")', _ADDRESSES), _use("{}.ip()", "cidr")),
    "cidr": (_use("{}.masked()", "cidr"), _use_texts('cidr("@")', _NETWORKS)),
    "url": (_use("url({})", "string"), _use_texts('url("@")', _URLS)),
    "duration": (
        _use_texts("({} @ {})", ("+", "-"), "duration", "duration"),
        _use("({} - {})", "timestamp", "timestamp"),
        _use("duration({})", "string"),
    ),
    "timestamp": (_use("({} + {})", "timestamp", "duration"),),
}
