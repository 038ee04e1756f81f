"""The heap against a sorted dictionary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policysched.queue import heap

UIDS = st.sampled_from("abcdefgh")
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), UIDS, st.integers(0, 9)),
        st.tuples(st.just("remove"), UIDS, st.just(0)),
        st.tuples(st.just("pop"), st.just(""), st.just(0)),
    ),
    max_size=200,
)


@given(OPERATIONS)
def test_behaves_like_a_sorted_dictionary(operations: list[tuple[str, str, int]]) -> None:
    """Whatever is pushed, replaced and taken out, the smallest key comes first."""
    pods: heap.Heap[tuple[int, str]] = heap.Heap(lambda item: item)
    model: dict[str, tuple[int, str]] = {}
    for operation, uid, value in operations:
        if operation == "push":
            pods.push(uid, (value, uid))
            model[uid] = (value, uid)
        elif operation == "remove":
            assert pods.remove(uid) == model.pop(uid, None)
        else:
            first = min(model.values(), default=None)
            assert pods.pop() == first
            if first is not None:
                del model[first[1]]
        assert pods.peek() == min(model.values(), default=None)
        assert len(pods) == len(model)
        assert sorted(pods) == sorted(model.values())
        assert all((uid in pods) == (uid in model) for uid in "abcdefgh")


def test_items_that_were_taken_out_do_not_pile_up() -> None:
    """Replacing one item for ever takes no more memory than a few stale entries."""
    pods: heap.Heap[tuple[int]] = heap.Heap(lambda item: item)
    for number in range(10_000):
        pods.push("a", (number,))
    assert len(pods._entries) < 200
    assert pods.pop() == (9_999,)


def test_an_update_that_keeps_the_key_replaces_the_item() -> None:
    """An item pushed again under the same key is the one that comes out, once."""
    pods: heap.Heap[list[str]] = heap.Heap(lambda _: (0,))
    pods.push("a", ["old"])
    pods.push("a", ["new"])
    assert [pods.pop(), pods.pop()] == [["new"], None]
