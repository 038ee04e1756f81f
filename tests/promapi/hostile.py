"""Bodies of answers, from good ones to nonsense."""

from __future__ import annotations

import json

from hypothesis import strategies as st

_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
_VALUES = (
    st.sampled_from(["1", "0.5", "990", "NaN", "+Inf", "-Inf", "-1e308", "x", "", "1e999"]) | _JSON
)
_METRICS = st.fixed_dictionaries(
    {},
    optional={
        "instance": st.sampled_from(["n1", "n2", "10.0.0.1:9100", "x", ""]),
        "policysched": st.sampled_from(["measured_at", "measured_at", "x"]),
    },
)
_SERIES = st.fixed_dictionaries(
    {"metric": _METRICS | _JSON},
    optional={"value": st.tuples(st.just(1000.0) | _JSON, _VALUES) | _JSON, "histogram": _JSON},
)
bodies: st.SearchStrategy[bytes] = st.one_of(
    st.binary(max_size=60),
    _JSON.map(lambda value: json.dumps(value).encode()),
    st.fixed_dictionaries(
        {
            "status": st.just("success") | _JSON,
            "data": st.fixed_dictionaries(
                {"resultType": st.just("vector") | _JSON, "result": st.lists(_SERIES) | _JSON}
            ),
        },
        optional={"warnings": _JSON, "infos": _JSON, "isPartial": _JSON, "error": _JSON},
    ).map(lambda value: json.dumps(value).encode()),
)
_POINTS = st.lists(
    st.tuples(st.sampled_from([4930.0, 4950.0, 4960.0, 5000.0, 5e9]) | _JSON, _VALUES) | _JSON,
    max_size=4,
)
matrices: st.SearchStrategy[bytes] = st.one_of(
    st.binary(max_size=60),
    st.fixed_dictionaries(
        {
            "status": st.just("success"),
            "data": st.fixed_dictionaries(
                {
                    "resultType": st.just("matrix") | _JSON,
                    "result": st.lists(
                        st.fixed_dictionaries(
                            {"metric": _METRICS},
                            optional={"values": _POINTS, "histograms": _POINTS},
                        )
                    )
                    | _JSON,
                }
            ),
        },
        optional={"warnings": _JSON, "infos": _JSON, "isPartial": _JSON},
    ).map(lambda value: json.dumps(value).encode()),
)
