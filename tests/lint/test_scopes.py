"""Policies are found by what their pods have, and none is missed."""

from __future__ import annotations

import itertools

import pytest

from policysched.lang.checked import checked
from policysched.lint.policies import scopes
from tests.lint import cases

NAMESPACES = (
    "",
    "in namespace (a)",
    "in namespace (a, b)",
    "in namespace (c)",
    "in namespace where team = x",
    "in namespace where team In (x, y)",
    "in namespace where team = x and env = prod",
    "in namespace where team Exists",
)
LABELS = ("", "where app = web", "where app In (web, api)", "where app = web and tier = x")


def policies() -> tuple[checked.CheckedPolicy, ...]:
    """Return a policy for each scope."""
    pairs = itertools.product(NAMESPACES, LABELS)
    texts = (f"policy p{i} {{ for pods {a} {b} }}\n" for i, (a, b) in enumerate(pairs))
    program = cases.checked("".join(texts)).program
    assert program is not None
    return program.policies


def test_the_index_finds_what_a_look_at_each_pair_finds() -> None:
    """Every policy that is about all pods of another one is found, once, and no other."""
    every = policies()
    covering = scopes.ScopeIndex(every)
    for policy in every:
        found = [each.name for each in covering.find_covering_policies(policy)]
        meant = {each.name for each in every if scopes.covers_scope(each.scope, policy.scope)}
        assert len(found) == len(set(found))
        assert set(found) == meant
        assert policy.name in meant


def test_tenants_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many tenants by the labels of their namespaces each one is compared with itself only."""
    text = "".join(
        f"policy p{i} {{ for pods in namespace where team = t{i} }}\n" for i in range(50)
    )
    program = cases.checked(text).program
    assert program is not None
    covering = scopes.ScopeIndex(program.policies)
    compared = 0
    covers = scopes.covers_scope

    def counted(*given: object) -> bool:
        nonlocal compared
        compared += 1
        return covers(*given)  # type: ignore[arg-type]  # two scopes, as it was called with

    monkeypatch.setattr(scopes, "covers_scope", counted)
    for policy in program.policies:
        assert [each.name for each in covering.find_covering_policies(policy)] == [policy.name]
    assert compared == len(program.policies)
