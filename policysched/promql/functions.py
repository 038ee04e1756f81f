"""PromQL's functions, aggregations and operators, grouped by their effect on series.

https://prometheus.io/docs/prometheus/latest/querying/functions/ and .../operators/ define them.
Some sets deliberately differ in only one name; their docstrings explain the difference.
`query_words` contains the words that editors propose, with descriptions.
"""

from __future__ import annotations

# ---------------------------------------------------------------------------- operators

COMPARISON_OPERATORS = frozenset({"==", "!=", "<", "<=", ">", ">="})
"""Comparisons: they remove series by value, or return 0 or 1 with `bool`."""
LEFT_SET_OPERATORS = frozenset({"and", "unless"})
"""Set operators that return series of the left side only, which excludes `or`."""
FILTER_OPERATORS = COMPARISON_OPERATORS | LEFT_SET_OPERATORS
"""Operators that can remove all series of a side, which excludes `or`."""
UNIT_KEEPING_OPERATORS = FILTER_OPERATORS | {"or"}
"""Operators that return values of a side unchanged, unless `bool` turns them into 0 or 1."""

# ---------------------------------------------------------------------------- aggregations

SELECTING_AGGREGATIONS = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})
"""Aggregations whose series keep all labels; `by` only defines the groups to compare."""
ADDING_AGGREGATIONS = frozenset({"sum", "avg"})
"""Aggregations that add the values of several series."""
COUNTING_AGGREGATIONS = frozenset({"count", "group", "count_values"})
"""Aggregations whose results do not depend on the scale of the input values."""
UNIT_KEEPING_AGGREGATIONS = SELECTING_AGGREGATIONS | {
    *("sum", "avg", "min", "max", "quantile", "stddev"),
}
"""Aggregations that keep the unit of the input values; `stdvar` squares it and is excluded."""

# ---------------------------------------------------------------------------- functions of ranges

COUNTER_FUNCTIONS = frozenset({"rate", "irate", "increase"})
"""Functions of counters, which treat a smaller value as a restart from zero."""
PER_SECOND_FUNCTIONS = frozenset({"rate", "irate", "deriv"})
"""Functions whose results are per second: `deriv` is included, the total `increase` is not."""
TWO_SAMPLE_FUNCTIONS = COUNTER_FUNCTIONS | {
    *("delta", "idelta", "deriv", "predict_linear", "resets", "changes"),
}
"""Functions that need two samples in their range, or compare neighbouring samples."""
LAST_SAMPLE_FUNCTIONS = frozenset({"irate", "idelta", "last_over_time", "timestamp"})
"""Functions that read only the newest one or two samples of a range of any length."""

# ---------------------------------------------------------------------------- functions of labels

LABEL_FUNCTIONS = frozenset({"label_replace", "label_join"})
"""Functions that write one label, named by their second argument."""
LABEL_ADDING_FUNCTIONS = LABEL_FUNCTIONS | {"histogram_quantiles"}
"""Functions and aggregations that can add a label, named by one of their string arguments."""
BUCKET_FUNCTIONS = frozenset({"histogram_quantile", "histogram_fraction"})
"""Functions that combine all buckets of a histogram into one sample without the label `le`."""

# ---------------------------------------------------------------------------- functions of values

ABSENCE_FUNCTIONS = frozenset({"absent", "absent_over_time"})
"""Functions that return a series if their argument has none; its labels come from matchers."""
VALUE_IGNORING_FUNCTIONS = frozenset({"absent", "count", "group", "present_over_time", "timestamp"})
"""Functions and aggregations that ignore the values of an instant vector."""
UNIT_KEEPING_FUNCTIONS = LABEL_FUNCTIONS | {
    *("increase", "delta", "idelta", "avg_over_time", "min_over_time", "max_over_time"),
    *("sum_over_time", "last_over_time", "first_over_time", "quantile_over_time"),
    *("stddev_over_time", "abs", "ceil", "floor", "round", "clamp", "clamp_max", "clamp_min"),
    *("sort", "sort_desc", "scalar", "vector"),
}
"""Functions and aggregations that keep the unit of the input values."""
ELEMENTWISE_FUNCTIONS = frozenset(
    {
        *("abs", "ceil", "floor", "round", "clamp", "clamp_max", "clamp_min", "sgn"),
        *("exp", "ln", "log10", "log2", "sqrt", "deg", "rad"),
        *("cos", "sin", "tan", "cosh", "sinh", "tanh"),
        *("acos", "asin", "atan", "acosh", "asinh", "atanh"),
        *("hour", "minute", "month", "year", "days_in_month"),
        *("day_of_month", "day_of_week", "day_of_year", "timestamp"),
        *("sort", "sort_desc", "sort_by_label", "sort_by_label_desc"),
        *("histogram_avg", "histogram_count", "histogram_stddev", "histogram_stdvar"),
        "histogram_sum",
    }
)
"""Functions that compute each series from the same series of an instant vector only."""

# ---------------------------------------------------------------------------- spelling

SPELLING_CANDIDATES = (
    *("abs", "absent", "avg_over_time", "ceil", "changes", "clamp", "clamp_max", "clamp_min"),
    *("count_over_time", "delta", "deriv", "floor", "histogram_quantile", "idelta", "increase"),
    *("irate", "label_join", "label_replace", "last_over_time", "max_over_time", "min_over_time"),
    *("predict_linear", "quantile_over_time", "rate", "resets", "round", "scalar", "sqrt"),
    *("stddev_over_time", "sum_over_time", "time", "timestamp", "vector"),
    *("avg", "bottomk", "count", "count_values", "group", "max", "min", "quantile", "stddev"),
    *("stdvar", "sum", "topk"),
)
"""Functions and aggregations to propose for misspelt names, if useful in queries about nodes.

The table for editors, `query_words.FUNCTIONS`, has more names, but not `count_values`, which turns
values into labels.
"""
