"""First failures of nodes, from answers by topology domain."""

from __future__ import annotations

from policysched.kernels import cython_stand_in as cython


def merge_domain_answers(
    rows: cython.Py_ssize_t[::1],
    slot_of_row: cython.Py_ssize_t[::1],
    answers: cython.short[::1],
    numbers: cython.short[::1],
    position: cython.int,
    position_of_number: cython.short[::1],
    ids: cython.short[::1],
) -> None:
    """Write the answers of one plugin into `ids[rows]`, unless a plugin before it rejects the node.

    Shapes:
        rows: intp (m,).
        slot_of_row: intp (N,), the domain of each row, 0 for none.
        answers: int16 (D + 1,), what the plugin says of the nodes of each domain.
        numbers: int16, the number in `ids` that stands for each answer; 0 for the answer 0.
        position_of_number: int16, where among all plugins the one stands that gave a number;
            `position` is where this one does.
        ids: int16 (N,), the first failure of each row so far, 0 for none, negative for no node.
    """
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    answer: cython.short
    with cython.nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            answer = numbers[answers[slot_of_row[row]]]
            if answer == 0 or ids[row] < 0:
                continue
            if ids[row] == 0 or position_of_number[ids[row]] > position:
                ids[row] = answer
