"""Texts of former versions of the language, and of later ones."""

from __future__ import annotations

from collections.abc import Iterable

import hypothesis
import hypothesis.strategies as st
import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lang.formatting import migration
from policysched.lang.parsing import parser, scanner, versions

HEADER = "# Policies of the web team.\n# Ask before you edit.\n"
POLICY = "policy web {  # odd\tlayout\n for pods\n}\n"


def _text(content: str) -> source.SourceText:
    return source.SourceText("test.policy", content)


STAMPED = [
    ("nothing before", POLICY, f"version 2\n\n{POLICY}"),
    ("a header", f"{HEADER}\n{POLICY}", f"{HEADER}\nversion 2\n\n{POLICY}"),
    ("a comment of the first item", f"# web\n{POLICY}", f"version 2\n\n# web\n{POLICY}"),
    ("said already", f"{HEADER}version 1\n{POLICY}", f"{HEADER}version 2\n{POLICY}"),
    ("empty", "", "version 2\n"),
    ("a comment alone", "# later", "version 2\n\n# later"),
    ("lines of Windows", "policy w { for pods }\r\n", "version 2\r\n\r\npolicy w { for pods }\r\n"),
]


@pytest.mark.parametrize(
    "before, after", [case[1:] for case in STAMPED], ids=[case[0] for case in STAMPED]
)
def test_a_text_says_its_version_afterwards(before: str, after: str) -> None:
    """Nothing else of it changes; a second time nothing changes at all."""
    assert migration.migrate_policy_text(_text(before)).text == after
    assert migration.migrate_policy_text(_text(after)).text == after


@hypothesis.given(
    st.text("\r\n \t#", max_size=12).map(lambda blanks: blanks.replace("#", "# c\n")),
    st.sampled_from([POLICY, "version 2\n" + POLICY, 'import "a.policy"\n', "let a = 1 # x\n", ""]),
)
def test_whatever_stands_before_is_kept(blanks: str, rest: str) -> None:
    """Every character of the text is there in its order, and it parses to the same items."""
    before = _text(blanks + rest)
    after = migration.migrate_policy_text(before).text
    assert after is not None
    start = after.find("version 2")
    line_end = "\r\n" if "\r\n" in before.text else "\n"
    if "version" in rest:
        assert after == before.text
    else:
        added = after[start:].removeprefix(f"version 2{line_end}")
        blank = line_end if added != before.text[start:] else ""
        assert after == f"{before.text[:start]}version 2{line_end}{blank}{before.text[start:]}"
    items = [type(item) for item in parser.parse_policy_text(_text(after)).file.items]
    assert [each.__name__ for each in items][:1] == ["Version"]
    assert len(items) - 1 == len(
        [i for i in parser.parse_policy_text(before).file.items if type(i).__name__ != "Version"]
    )


def test_a_text_with_errors_is_not_migrated() -> None:
    """Its errors are told where they stand in the file."""
    result = migration.migrate_policy_text(_text("policy web {\n  for plants\n}\n"))
    assert result.text is None
    assert [each.span.line for each in result.diagnostics] == [2]


@pytest.mark.parametrize("number", ["3", "4", "99999999999999999999"])
def test_a_later_version_is_one_error(number: str) -> None:
    """Whatever it has that is not known here, one thing is said, and what to do."""
    text = _text(f"# new\nversion {number}\npolicy web {{ for every pod that {{ there will be }}\n")
    for found in (
        migration.migrate_policy_text(text).diagnostics,
        checker.check([text]).diagnostics,
        parser.parse_policy_text(text).diagnostics,
    ):
        (finding,) = found
        assert finding.code == "PS110"
        assert finding.span.line == 2
        shown = number if len(number) == 1 else "999999999…"
        assert f"version {shown} of the language, which needs a newer" in finding.message
        assert finding.help == "this program supports versions 1 to 2: use a newer policysched"


def test_names_of_a_later_version_are_not_missed_elsewhere() -> None:
    """What the text may define is not reported a second time where it is used."""
    new = source.SourceText("metrics.policy", "version 3\nmetric load is `load` in percent\n")
    used = _text("policy web { for pods reject when load > 1 missing allow }")
    assert [f.span.file for f in checker.check([new, used]).diagnostics] == ["metrics.policy"]


@pytest.mark.parametrize("number", ["0", "1.5"])
def test_what_was_never_a_version_is_not_supported(number: str) -> None:
    """There is nothing to migrate from."""
    result = checker.check([_text(f"version {number}\n{POLICY}")])
    assert result.program is None
    (finding,) = result.diagnostics
    assert finding.message == f"version {number} of the language is not supported"
    assert finding.help == "this program supports versions 1 to 2"
    assert migration.migrate_policy_text(_text(f"version {number}\n{POLICY}")).text is None


def test_a_version_at_the_wrong_place_is_left_to_its_author() -> None:
    """A second one in front of it would make things worse."""
    result = migration.migrate_policy_text(_text(f"{POLICY}version 1\n"))
    assert (result.text, result.problem) == (None, "`version` must come first, and only once")


# --- version 2 ---------------------------------------------------------------------------------

FORMER = (
    "policy p { for pods in namespace where team = a and in In (namespace) where where = in }\n"
)
OURS = "policy p { for pods namespaceSelector team = a and in In (namespace) where where = in }\n"


def test_labels_of_namespaces_have_their_own_word() -> None:
    """Version 1 has both forms with one meaning; version 2 refuses one, with a safe fix."""
    programs = [
        checker.check([_text(text)]).program for text in (FORMER, OURS, f"version 2\n{OURS}")
    ]
    scopes = [each.policies[0].scope for each in programs if each is not None]
    assert len(scopes) == 3
    assert scopes[0] == scopes[1] == scopes[2]
    result = checker.check([_text(f"version 2\n{FORMER}")])
    assert result.program is None
    (finding,) = result.diagnostics
    assert (finding.code, finding.span.line) == ("PS110", 2)
    assert finding.fix is not None
    assert finding.fix.safe
    assert migration.migrate_policy_text(_text(FORMER)).text == f"version 2\n\n{OURS}"


def test_cluster_policies_have_no_labels_of_namespaces() -> None:
    """Neither form is refused in favour of the other."""
    text = "clusterPolicy a { for resources in namespace where team = a }\n"
    for written in (text, f"version 2\n{text}"):
        (finding,) = checker.check([_text(written)]).diagnostics
        assert finding.code == "PS108"
    assert migration.migrate_policy_text(_text(text)).text == f"version 2\n\n{text}"


def test_comments_between_former_words_stay() -> None:
    """Each word is replaced on its own."""
    text = "policy p { for pods in # a\n namespace # b\n where team = a }\n"
    after = migration.migrate_policy_text(_text(text)).text
    assert after == (
        "version 2\n\npolicy p { for pods namespaceSelector # a\n  # b\n  team = a }\n"
    )
    assert checker.check([_text(after)]).program is not None


def test_texts_of_both_versions_load_together() -> None:
    """Each has the words of its own version."""
    other = source.SourceText(
        "other.policy", "version 2\npolicy q { for pods namespaceSelector a = b }"
    )
    assert checker.check([_text(FORMER), other]).program is not None


# --- steps of versions to come -------------------------------------------------------------------


def _rename(old: str, new: str) -> migration.MigrationStep:
    """Return a step that renames a word, as a new version of the language might."""

    def edits(scan: scanner.LexemeScan) -> Iterable[diagnostics.TextEdit]:
        for lexeme in scan.lexemes:
            if lexeme.kind == "word" and lexeme.text == old:
                yield diagnostics.TextEdit(scan.source.span(lexeme.start, lexeme.end), new)

    return migration.MigrationStep(0, edits)


def _steps(*steps: migration.MigrationStep) -> list[migration.MigrationStep]:
    return [
        migration.MigrationStep(versions.FIRST + number, step.edits)
        for number, step in enumerate(steps, start=1)
    ]


THREE = _steps(_rename("weight", "factor"), _rename("factor", "times"))
OLD = 'score load  weight 3  # weight, "weight"\nscore "weight" weight 4\n'


def test_steps_follow_each_other() -> None:
    """Each version is left by its own step; strings and comments are not words."""
    result = migration.migrate_policy_text(_text(OLD), THREE)
    assert result.text == (
        'version 3\n\nscore load  times 3  # weight, "weight"\nscore "weight" times 4\n'
    )


def test_a_text_begins_at_its_own_version() -> None:
    """Steps before that are not for it."""
    assert migration.migrate_policy_text(_text("version 2\nweight factor\n"), THREE).text == (
        "version 3\nweight times\n"
    )
    assert migration.migrate_policy_text(_text("version 3\nweight factor\n"), THREE).text == (
        "version 3\nweight factor\n"
    )


def test_a_version_after_the_last_step_is_unknown() -> None:
    """Nothing goes back."""
    (finding,) = migration.migrate_policy_text(_text("version 4\nx\n"), THREE).diagnostics
    assert finding.help == "this program supports versions 1 to 3: use a newer policysched"


def test_a_step_that_loses_a_comment_is_refused() -> None:
    """The file stays as it is, whatever a step does."""

    def cut(scan: scanner.LexemeScan) -> Iterable[diagnostics.TextEdit]:
        yield diagnostics.TextEdit(scan.source.span(0, len(scan.source.text)), "nothing")

    result = migration.migrate_policy_text(_text(OLD), [migration.MigrationStep(2, cut)])
    assert result.text is None
    assert result.problem == "the migrated text would lose or reorder comments"


def test_there_is_a_step_for_every_version() -> None:
    """Else texts of a former version could not be migrated."""
    numbers = [step.to_version for step in migration.STEPS]
    assert numbers == list(range(versions.FIRST + 1, versions.CURRENT + 1))
