"""The syntax tree of an expression.

The parser makes it, and replaces macros such as `all` by `Comprehension` and `Bind`. The checker
writes its findings into it: slots of variables, and the overloads of calls.
"""

from __future__ import annotations

import dataclasses

from policysched.cel.overloads import Overload


class CelNode:
    """A part of an expression."""

    __slots__ = ()

    def list_children(self) -> list[CelNode]:
        """Return the nodes directly below this one."""
        return []


@dataclasses.dataclass(slots=True)
class Literal(CelNode):
    """A constant.

    Attributes:
        value: a runtime value.
        is_enclosed: whether it is in parentheses, so that a sign before them is not its own.
    """

    value: object
    is_enclosed: bool = False


@dataclasses.dataclass(slots=True)
class Identifier(CelNode):
    """A variable, or the name of a type.

    Attributes:
        name: as written.
        slot: of a variable; None for a type.
        is_lazy: whether `cel.bind` makes the variable, which computes it when it is read.
    """

    name: str
    slot: int | None = None
    is_lazy: bool = False


@dataclasses.dataclass(slots=True)
class Select(CelNode):
    """`operand.field`, or `operand.?field`, or the argument of `has` if `is_test`.

    If the whole is the name of a type, such as `net.IP`, `type_name` is that name.
    """

    operand: CelNode
    field: str
    is_optional: bool = False
    is_test: bool = False
    type_name: str | None = None

    def list_children(self) -> list[CelNode]:
        """Return the nodes directly below this one."""
        return [self.operand]


@dataclasses.dataclass(slots=True)
class Index(CelNode):
    """`operand[key]`, or `operand[?key]`."""

    operand: CelNode
    key: CelNode
    is_optional: bool = False

    def list_children(self) -> list[CelNode]:
        """Return the nodes directly below this one."""
        return [self.operand, self.key]


@dataclasses.dataclass(slots=True)
class FunctionCall(CelNode):
    """A call of a function or an operator; `target` is the receiver of a method."""

    function: str
    target: CelNode | None
    arguments: list[CelNode]
    overloads: tuple[Overload, ...] = ()

    def list_children(self) -> list[CelNode]:
        """Return the nodes directly below this one."""
        return self.arguments if self.target is None else [self.target, *self.arguments]


@dataclasses.dataclass(slots=True)
class Logical(CelNode):
    """Terms joined by `&&`, or by `||`; `decisive` is the value that decides alone."""

    decisive: bool
    terms: list[CelNode]

    def list_children(self) -> list[CelNode]:
        """Return the nodes directly below this one."""
        return self.terms


@dataclasses.dataclass(slots=True)
class Conditional(CelNode):
    """`condition ? yes : no`."""

    condition: CelNode
    yes: CelNode
    no: CelNode

    def list_children(self) -> list[CelNode]:
        """Return the nodes directly below this one."""
        return [self.condition, self.yes, self.no]


@dataclasses.dataclass(slots=True)
class ListLiteral(CelNode):
    """`[first, ?second]`; an optional element that has no value is left out."""

    elements: list[CelNode]
    optional: list[bool]

    def list_children(self) -> list[CelNode]:
        """Return the nodes directly below this one."""
        return self.elements


@dataclasses.dataclass(slots=True)
class MapLiteral(CelNode):
    """`{key: value, ?key: value}`."""

    keys: list[CelNode]
    values: list[CelNode]
    optional: list[bool]

    def list_children(self) -> list[CelNode]:
        """Return the nodes directly below this one."""
        return self.keys + self.values


@dataclasses.dataclass(slots=True)
class Comprehension(CelNode):
    """A macro that visits the items of `range`.

    Attributes:
        macro: `all`, `exists`, `existsOne`, `map`, `filter`, `transformList`, `transformMap` or
            `transformMapEntry`.
        range: what is visited.
        names: of one or two variables.
        condition: for which items there is a result; None for all.
        result: of an item; None if it is the item itself, or if only the condition counts.
        slots: of the variables.
    """

    macro: str
    range: CelNode
    names: tuple[str, ...]
    condition: CelNode | None
    result: CelNode | None
    slots: tuple[int, ...] = ()

    def list_children(self) -> list[CelNode]:
        """Return the nodes directly below this one."""
        parts = (self.range, self.condition, self.result)
        return [each for each in parts if each is not None]


@dataclasses.dataclass(slots=True)
class Bind(CelNode):
    """`cel.bind(name, value, body)`; the value is computed if and when the body reads it."""

    name: str
    value: CelNode
    body: CelNode
    slot: int = 0

    def list_children(self) -> list[CelNode]:
        """Return the nodes directly below this one."""
        return [self.value, self.body]


@dataclasses.dataclass(slots=True)
class OptionalMap(CelNode):
    """`target.optMap(name, body)`; with `is_flat` the body is an optional itself."""

    target: CelNode
    name: str
    body: CelNode
    is_flat: bool
    slot: int = 0

    def list_children(self) -> list[CelNode]:
        """Return the nodes directly below this one."""
        return [self.target, self.body]


def find_qualified_name(node: CelNode) -> str | None:
    """Return `a.b.c` for selections of names, else None."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.is_optional and not node.is_test:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Identifier):
        return None
    return ".".join([node.name, *reversed(parts)])
