"""Proposals for names in profiles: policies, plugins and params."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.syntax import syntax
from policysched.language_server.features import proposals
from policysched.language_server.project import programs
from policysched.language_server.words import cursor_contexts


def propose_profile_words(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext
) -> Iterator[proposals.CompletionProposal]:
    """Yield the policies, plugins or params that fit the position in a profile."""
    if context.get_preceding_word() not in (
        "policies",
        "exclude",
        "plugin",
        "disable",
        "scores",
        "param",
        ",",
    ):
        return
    if context.statement == "policies":
        policies = (each.symbol.name for each in program.name_index.list_definitions("policy"))
        yield from proposals.propose_quoted_words(policies, "name", "policy")
    elif context.statement == "exclude":
        yield from proposals.propose_quoted_words(
            (
                each.symbol.name
                for each in program.name_index.list_definitions("policy")
                if isinstance(each.node, syntax.Policy)
                and any(isinstance(s, syntax.AllProfiles) for s in each.node.statements)
            ),
            "name",
            "policy of all profiles",
        )
    elif (
        context.get_preceding_word() in ("plugin", "disable", "scores")
        or context.statement == "disable"
    ):
        yield from proposals.propose_quoted_words(
            program.known.plugins or (), "name", "plugin", rank=2
        )
    elif context.statement == "param" and context.get_preceding_word() == "param":
        params = (each.symbol.name for each in program.name_index.list_definitions("param"))
        yield from proposals.propose_quoted_words(params, "name", "param")
