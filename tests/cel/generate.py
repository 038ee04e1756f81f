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
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from tests.cel import samples

_ORDERED: Final = ("int", "double", "string", "bool", "uint")
_SIMPLE: Final = (*_ORDERED, "semver", "quantity")
_WRONG_TYPE_SHARE: Final = 0.02
_PLAIN_SHARE: Final = 0.95
_QUOTED_SHARE: Final = 0.005
_Choice = TypeVar("_Choice")


@dataclasses.dataclass(frozen=True)
class Case:
    """An expression, and devices in the form of a ResourceSlice."""

    expression: str
    devices: list[dict[str, Any]]


def make_case(rng: random.Random, device_count: int) -> Case:
    """Return an expression and this number of devices."""
    expression = _Writer(rng).write("bool", rng.choice((1, 2, 3, 4)))
    return Case(expression, [samples.make_device(rng) for _ in range(device_count)])


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

    def pick(self, choices: Sequence[_Choice]) -> _Choice:
        """Return one of some choices."""
        return self._rng.choice(choices)

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
        own = self.pick(_SIMPLE)
        value, name = self.write(own, depth), self._rng.choice("uvw")
        self._variables.append((name, own))
        body = self.write(kind, depth)
        self._variables.pop()
        return f"cel.bind({name}, {value}, {body})"

    def write_odd_map(self, depth: int) -> str:
        """Return a map literal with keys of any type."""
        own = self.pick(samples.KEY_KINDS)
        prefix = self.pick(("", "", "", "dyn"))
        keys = [self._write_constant_or(own, depth) for _ in range(self._rng.choice((1, 2)))]
        pairs = (f"{prefix}({key}): {self._rng.choice(samples.INTS[:4])}" for key in keys)
        return f"{{{', '.join(pairs)}}}"

    def write_message(self, kind: str, depth: int) -> str:
        """Return a literal of a message."""
        names = self.pick(samples.MESSAGE_FIELDS)
        # Only constants for timestamps: policysched refuses those outside the years 1 to 9999.
        own_depth = depth if kind == "duration" else None
        fields = (f"{name}: {self._write_field(name, own_depth)}" for name in names)
        return f"google.protobuf.{kind.capitalize()}{{{', '.join(fields)}}}"

    def _write_field(self, name: str, depth: int | None) -> str:
        value = (
            self.pick(samples.SECONDS) if depth is None else self._write_constant_or("int", depth)
        )
        return f"optional.of({value})" if name.startswith("?") else value

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
        name = rng.choice(samples.IDENTIFIERS)
        base = self.attribute_of(rng.choice((samples.DRIVER, samples.DRIVER, *samples.DOMAINS)))
        if rng.random() < _QUOTED_SHARE:
            return f"{base}.`{name}`"
        return rng.choice((f"{base}.{name}", f'{base}["{name}"]'))

    def _write_leaf(self, kind: str) -> str:
        rng = self._rng
        leaf: dict[str, Callable[[], str]] = {
            "bool": lambda: rng.choice(
                ("true", "false", "device.allowMultipleAllocations", self._attribute())
            ),
            "int": lambda: rng.choice(
                samples.INTS if rng.random() < _PLAIN_SHARE else samples.ODD_NUMBERS
            ),
            "uint": lambda: rng.choice(
                ("0u", "1u", "7u") if rng.random() < _PLAIN_SHARE else samples.ODD_UINTS
            ),
            "double": lambda: rng.choice(
                samples.DOUBLES if rng.random() < _PLAIN_SHARE else samples.ODD_DOUBLES
            ),
            "string": lambda: rng.choice((_quote(rng.choice(samples.TEXTS)), "device.driver")),
            "bytes": lambda: rng.choice(('b"a"', 'b"\\xff"', 'b""')),
            "semver": lambda: f"semver({_quote(rng.choice(samples.VERSIONS))})",
            "quantity": lambda: rng.choice(
                (
                    f"quantity({_quote(rng.choice(samples.QUANTITIES))})",
                    f'device.capacity["{samples.DRIVER}"].memory',
                    'device.capacity["net.example.com"].bandwidth',
                )
            ),
            "any": self._attribute,
            "null": lambda: "null",
            "list": lambda: self.write_list("int", 0),
            "ip": lambda: f"ip({_quote(rng.choice(samples.ADDRESSES))})",
            "cidr": lambda: f"cidr({_quote(rng.choice(samples.NETWORKS))})",
            "url": lambda: f"url({_quote(rng.choice(samples.URLS))})",
            "duration": lambda: f"duration({_quote(rng.choice(samples.DURATIONS))})",
            "timestamp": lambda: f"timestamp({_quote(rng.choice(samples.TIMESTAMPS))})",
        }
        return leaf[kind]()


_Operation = Callable[[_Writer, str, int], str]


def _use(template: str, *kinds: str) -> _Operation:
    """Return the operation that fills a template with operands of these types."""
    return lambda writer, _kind, depth: writer.fill(template, depth, *kinds)


def _use_same(template: str, kinds: tuple[str, ...] = _SIMPLE, count: int = 2) -> _Operation:
    """Return the operation on operands of one type, whichever."""

    def write(writer: _Writer, _kind: str, depth: int) -> str:
        own = writer.pick(kinds)
        return writer.fill(template, depth, *[own] * count)

    return write


def _use_texts(template: str, texts: tuple[str, ...], *kinds: str) -> _Operation:
    """Return the operation whose last operand is one of some constants."""

    def write(writer: _Writer, _kind: str, depth: int) -> str:
        text = writer.pick(texts).replace("{", "{{").replace("}", "}}")
        return writer.fill(template.replace("@", text), depth, *kinds)

    return write


def _use_loop(template: str, kinds: tuple[str, ...], *results: str) -> _Operation:
    """Return the operation of a macro over a list."""
    return lambda writer, _kind, depth: writer.write_loop(
        template, writer.pick(kinds), depth, *results
    )


def _use_list(template: str, kinds: tuple[str, ...], *others: str) -> _Operation:
    """Return the operation on a list; `same` among the others is the type of its elements."""

    def write(writer: _Writer, _kind: str, depth: int) -> str:
        own = writer.pick(kinds)
        parts = [writer.write(own if other == "same" else other, depth) for other in others]
        return template.format(writer.write_list(own, depth), *parts)

    return write


def _use_lists(template: str) -> _Operation:
    """Return the operation on two lists of one type."""

    def write(writer: _Writer, _kind: str, depth: int) -> str:
        own = writer.pick(_SIMPLE)
        return template.format(writer.write_list(own, depth), writer.write_list(own, depth))

    return write


def _write_name_in_attributes(writer: _Writer, _kind: str, _depth: int) -> str:
    attributes = writer.attribute_of(writer.pick(samples.DOMAINS))
    return f'("{writer.pick(samples.IDENTIFIERS)}" in {attributes})'


def _write_conditional(writer: _Writer, kind: str, depth: int) -> str:
    return writer.fill("({} ? {} : {})", depth, "bool", kind, kind)


def _write_bind(writer: _Writer, kind: str, depth: int) -> str:
    return writer.write_bind(kind, depth)


def _write_optional(writer: _Writer, kind: str, depth: int) -> str:
    base = writer.attribute_of(writer.pick(samples.DOMAINS))
    name = writer.pick(samples.IDENTIFIERS)
    chain = writer.pick((f"{base}.?{name}", f'{base}[?"{name}"]', f"optional.of({base}.{name})"))
    return f"{chain}.orValue({writer.write(kind, depth)})"


def _write_own_optional(writer: _Writer, kind: str, depth: int) -> str:
    optional = writer.pick(("optional.none()", "optional.of({})", "optional.ofNonZeroValue({})"))
    return writer.fill(optional + ".orValue({})", depth, kind, kind)


def _write_element(writer: _Writer, kind: str, depth: int) -> str:
    if kind == "list":
        return writer.write_list("int", depth)
    index = writer.pick(("0", "1", "2"))
    choices = (
        f"{writer.write_list(kind, depth)}[{index}]",
        f"{writer.write_map(kind, depth)}.{writer.pick(('a', 'b'))}",
        f"{writer.write_list(kind, depth)}[?{index}].orValue({writer.write(kind, depth)})",
        f"{writer.write_list(kind, depth)}.first().value()",
        f"{writer.write_list(kind, depth)}.last().value()",
    )
    return writer.pick(choices)


def _write_odd_map(template: str, *kinds: str) -> _Operation:
    """Return the operation on a map with keys of any type."""

    def write(writer: _Writer, _kind: str, depth: int) -> str:
        first, second = writer.write_odd_map(depth), writer.write_odd_map(depth)
        return template.format(first, second, *(writer.write(kind, depth) for kind in kinds))

    return write


def _write_message(writer: _Writer, kind: str, depth: int) -> str:
    return writer.write_message(kind, depth)


def _write_deep(writer: _Writer, _kind: str, _depth: int) -> str:
    opening, closing = writer.pick(samples.NESTINGS)
    count = writer.pick(samples.DEPTHS)
    return f"{opening * count}true{closing * count}"


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
        f"has({writer.attribute_of(writer.pick(samples.DOMAINS))}.{writer.pick(samples.IDENTIFIERS)})"
    ),
    _write_name_in_attributes,
    *[
        _use(f"{{}}.{name}({{}})", "string", "string")
        for name in ("contains", "startsWith", "endsWith")
    ],
    _use_texts('{}.matches("@")', samples.PATTERNS, "string"),
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
    _use_texts('isSemver("@", {})', (*samples.VERSIONS, *samples.LOOSE_VERSIONS), "bool"),
    _use("isQuantity({})", "string"),
    _use_texts('isQuantity("@")', (*samples.QUANTITIES, *samples.LONG_QUANTITIES)),
    _use_texts('quantity("@").isInteger()', (*samples.QUANTITIES, *samples.LONG_QUANTITIES)),
    _use_texts('(quantity("@") == {})', samples.LONG_QUANTITIES, "quantity"),
    _use_texts('isIP("@")', samples.ADDRESSES),
    _use_texts('isCIDR("@")', samples.NETWORKS),
    _use_texts('isURL("@")', samples.URLS),
    _use_texts(
        "{}.@()",
        ("isLoopback", "isUnspecified", "isGlobalUnicast", "isLinkLocalUnicast"),
        "ip",
    ),
    _use("{}.containsIP({})", "cidr", "ip"),
    _use("{}.containsCIDR({})", "cidr", "cidr"),
    _use_texts("format.@().validate({}).hasValue()", samples.FORMATS, "string"),
    _use("(type({}) == type({}))", "any", "any"),
    _use_texts("(type({}) == @)", ("int", "string", "bool", "null_type"), "any"),
    _use("({} > {})", "duration", "duration"),
    _use("({} < {})", "timestamp", "timestamp"),
    _use("({} == null)", "any"),
    _use("{}", "any"),
    _write_deep,
    _write_odd_map("({} == {})"),
    _write_odd_map("({0}.size() == {1}.size())"),
    _write_odd_map("{0}.all(k, k in {1})"),
    *[_write_odd_map("({2} in {0})", kind) for kind in ("double", "null", "any", "duration")],
    _write_odd_map("has({0}.a)"),
    _write_odd_map("({0}[{2}] == 1)", "any"),
    _write_odd_map("({0}[{2}] == 1)", "double"),
    _write_odd_map("{0}[?{2}].hasValue()", "any"),
    _write_odd_map("({0}.transformMap(k, v, v) == {1})"),
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
    _use_texts('quantity("@").asInteger()', (*samples.QUANTITIES, *samples.LONG_QUANTITIES)),
    _use("sign({})", "quantity"),
    _use_texts("{}.@()", ("major", "minor", "patch"), "semver"),
    _use_texts('cidr("@").prefixLength()', samples.NETWORKS),
    _use("{}.family()", "ip"),
    _use_texts("{}.@()", ("getHours", "getMinutes", "getSeconds", "getMilliseconds"), "duration"),
    _use_texts(
        "{}.@()",
        ("getFullYear", "getMonth", "getDayOfWeek", "getHours", "getMilliseconds"),
        "timestamp",
    ),
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
    _use_texts('{}.find("@")', samples.PATTERNS, "string"),
    _use_texts('{}.findAll("@").join("|")', samples.PATTERNS, "string"),
    _use_texts('{}.findAll("@", {})[0]', samples.PATTERNS, "string", "int"),
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
        _use_texts('semver("@", {})', (*samples.VERSIONS, *samples.LOOSE_VERSIONS), "bool"),
    ),
    "quantity": (
        _use("quantity({})", "string"),
        _use_texts('quantity("@").add({})', samples.QUANTITIES, "quantity"),
        _use_texts('quantity("@").sub({})', samples.QUANTITIES, "int"),
    ),
    "any": _GENERIC,
    "bytes": (_use("bytes({})", "string"),),
    "null": (lambda _writer, _kind, _depth: "null",),
    "list": _LIST,
    "ip": (_use_texts('ip("@")', samples.ADDRESSES), _use("{}.ip()", "cidr")),
    "cidr": (_use("{}.masked()", "cidr"), _use_texts('cidr("@")', samples.NETWORKS)),
    "url": (_use("url({})", "string"), _use_texts('url("@")', samples.URLS)),
    "duration": (
        _use_texts("({} @ {})", ("+", "-"), "duration", "duration"),
        _use("({} - {})", "timestamp", "timestamp"),
        _use("duration({})", "string"),
        _write_message,
    ),
    "timestamp": (_use("({} + {})", "timestamp", "duration"), _write_message),
}
