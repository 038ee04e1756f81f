"""Webster's method, against one seat at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policysched.karmada.steps import webster

_VOTES = st.dictionaries(
    st.sampled_from("abcdefgh"), st.integers(0, 10**6) | st.integers(0, 5), min_size=1
)


@given(votes=_VOTES, seats=st.integers(-2, 400), uid=st.sampled_from(("", "a", "b", "c")))
def test_seats_are_those_of_the_plain_method(votes: dict[str, int], seats: int, uid: str) -> None:
    """Seats that are given at once are those that come one by one."""
    names = sorted(votes, reverse=webster.has_odd_hash(uid))
    plain = dict.fromkeys(sorted(votes), 0)
    for _ in range(seats):
        # The greatest priority, then the fewest seats, then the first name.
        best = min(names, key=lambda n: (-votes[n] / (2 * plain[n] + 1), plain[n]))
        plain[best] += 1
    assert webster.divide_seats(seats, votes, uid) == plain


@given(votes=_VOTES, seats=st.integers(0, 10**6))
def test_many_seats_are_close_to_the_share(votes: dict[str, int], seats: int) -> None:
    """All are given, and to nobody without votes while others have some."""
    given_seats = webster.divide_seats(seats, votes, "")
    assert sum(given_seats.values()) == seats
    total = sum(votes.values())
    for name, count in votes.items():
        assert not total or abs(given_seats[name] - seats * count / total) <= len(votes)
