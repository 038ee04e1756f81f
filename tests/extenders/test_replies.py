"""Answers of extenders are decoded as in Go."""

from __future__ import annotations

import pytest

from policysched.extenders import calls, replies


class TestFilter:
    """Answers to Filter."""

    def test_fields_match_without_regard_to_case(self) -> None:
        """Unknown fields and text after the value do not matter; the last match counts."""
        body = b"""{"nodenames": ["a"], "NODENAMES": ["b"], "failedNodes": {"c": "full"},
            "new": 1} {"Error": "unread"}"""
        assert replies.decode_filter(body) == replies.FilterReply(
            ["b"], None, {"c": "full"}, {}, ""
        )

    def test_nodes_are_known_by_their_names(self) -> None:
        """Of node objects, only the name is read."""
        body = b'{"Nodes": {"items": [{"metadata": {"name": "a"}, "spec": {}}, {}]}}'
        assert replies.decode_filter(body).node_list_names == ["a", ""]

    @pytest.mark.parametrize(
        "error, text",
        [
            (rb"bad \ud800", "bad \ufffd"),
            (rb"\uDC00\uD800\u0041", "\ufffd\ufffdA"),
            (rb"\ud83d\ude00 \ude00", "\U0001f600 \ufffd"),
            (rb"\\ud800 \ude00", "\\ud800 \ufffd"),
            (b"bad \xff", "bad \ufffd"),
        ],
    )
    def test_half_a_character_is_replaced(self, error: bytes, text: str) -> None:
        """As in Go; other texts, such as events, could not contain it."""
        assert replies.decode_filter(b'{"Error": "%s"}' % error).error == text
        failed = replies.decode_filter(b'{"FailedNodes": {"%s": "%s"}}' % (error, error)).failed
        assert failed == {text: text}

    @pytest.mark.parametrize("body", [b"null", b"{}", b'{"NodeNames": null, "Nodes": null}'])
    def test_null_is_absent(self, body: bytes) -> None:
        """As in Go, null leaves a field as it is."""
        assert replies.decode_filter(body) == replies.FilterReply(None, None, {}, {}, "")

    @pytest.mark.parametrize(
        "body, problem",
        [
            (b"", "the answer is not JSON"),
            (b"<html>", "the answer is not JSON"),
            (b'{"NodeNames": ["a"', "the answer is not JSON"),
            (b"[" * 100_000, "the answer is not JSON"),
            (b'{"NodeNames": ["a"], "new": NaN}', "the answer is not JSON"),
            (b'\xc2\xa0{"NodeNames": ["a"]}', "the answer is not JSON"),
            (b"[]", "`the answer` is not a JSON object"),
            (b'{"NodeNames": "a"}', "`NodeNames` is not a JSON array"),
            (b'{"NodeNames": [1]}', "`NodeNames` is not a JSON string"),
            (b'{"FailedNodes": {"a": 1}}', "`FailedNodes.a` is not a JSON string"),
            (b'{"Nodes": {"items": [[]]}}', "`Nodes.items` is not a JSON object"),
        ],
    )
    def test_says_what_is_wrong(self, body: bytes, problem: str) -> None:
        """One text for the pod, without a traceback."""
        with pytest.raises(calls.ExtenderError, match=problem):
            replies.decode_filter(body)


class TestPoints:
    """Answers to Prioritize."""

    def test_reads_whole_numbers(self) -> None:
        """A node without a score gets none."""
        body = b'[{"Host": "a", "Score": -3}, {"host": "b"}, {"Host": "c", "Score": null}]'
        assert replies.decode_points(body) == [("a", -3), ("b", 0), ("c", 0)]
        assert replies.decode_points(b"null") == []

    @pytest.mark.parametrize("score", ["5.0", '"5"', "true", "9223372036854775808", "1e3"])
    def test_refuses_other_numbers(self, score: str) -> None:
        """Go decodes no other number into an int64."""
        with pytest.raises(calls.ExtenderError, match="Score"):
            replies.decode_points(b'[{"Host": "a", "Score": %s}]' % score.encode())


class TestOthers:
    """Answers to Preempt and Bind."""

    def test_reads_victims(self) -> None:
        """Victims are known by their uids."""
        body = b"""{"nodeNameToMetaVictims": {"n": {"pods": [{"uid": "u"}],
            "numPDBViolations": 2}, "m": null}}"""
        assert replies.decode_victims(body) == {
            "n": replies.MetaVictims(("u",), 2),
            "m": replies.MetaVictims((), 0),
        }

    def test_reads_the_error_of_a_binding(self) -> None:
        """An empty object is a success."""
        assert replies.decode_binding_error(b"{}") == ""
        assert replies.decode_binding_error(b'{"error": "no"}') == "no"
