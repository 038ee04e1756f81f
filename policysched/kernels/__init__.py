"""Kernels: loops over the rows of nodes, compiled where a C compiler is found.

Each module is ordinary Python that Cython compiles (`build_kernels.py`). Without the compiled
module, Python runs the same source: equal results, hundreds of times slower.

Rules that keep both ways equal:
    - Arrays come from `NodeColumns`; a compiled kernel does not check bounds.
    - `rows` is intp (m,), and a kernel writes `out[rows]`. One row and all rows use the same loop.
    - Loops are in `with cython.nogil`, where Cython refuses operations on Python objects.
    - int64 wraps around as in Go, and division rounds towards 0 (`_divide`).
"""
