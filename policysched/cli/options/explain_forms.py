"""The forms of `explain`; NAMESPACE/NAME without a form means `pod`."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from policysched import errors

if TYPE_CHECKING:
    _SubParsersAction = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse has no public name
else:
    _SubParsersAction = argparse._SubParsersAction  # noqa: SLF001 - as above

_POD = "pod"
_POLICY_FILE = ".policy"
_KINDS = {"po": _POD, "pod": _POD, "pods": _POD, "binding": "binding", "rule": "rule"}
"""Maps a word before `/` that can be a kind, as in kubectl's TYPE/NAME, to its form."""


class AnyWordParsers(dict[str, Any]):
    """Parsers by form; `in` is true for every word, so that `ExplainFormAction` gets all words."""

    def __contains__(self, word: object) -> bool:
        """Return True for every word."""
        return True


class ExplainFormAction(_SubParsersAction):
    """Chooses the parser of the form that the first word names; NAMESPACE/NAME means `pod`."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Parse the words after `explain`.

        Raises:
            UsageError: the first word is neither a form nor NAMESPACE/NAME, or could be both.
        """
        words = list(values or ())
        forms = list(self._name_parser_map)
        if words[0] not in forms:
            _require_unambiguous_pod_name(words[0], forms)
            words.insert(0, _POD)
        super().__call__(parser, namespace, words, option_string)


def _require_unambiguous_pod_name(word: str, forms: Sequence[str]) -> None:
    """Raise UsageError unless the word is an unambiguous NAMESPACE/NAME."""
    kind, slash, name = word.partition("/")
    if word.endswith(_POLICY_FILE):
        raise errors.UsageError(
            f"`{word}` is read as the pod; write --policies before each file, "
            "or `explain pod NAMESPACE/NAME`"
        )
    near = difflib.get_close_matches(word, forms, n=1)
    if near and not slash:
        raise errors.UsageError(f"`{word}` is not a form of explain; did you mean `{near[0]}`?")
    if not slash:
        raise errors.UsageError(
            f"`{word}` is neither a form of explain nor NAMESPACE/NAME; "
            f"write `explain default/{word}`"
        )
    if kind in _KINDS:
        raise errors.UsageError(
            f"`{word}` is ambiguous: `{kind}` may be a namespace; write `explain pod {word}`, "
            f"or `explain {_KINDS[kind]} {name}`"
        )
