"""PromQL's functions, aggregations and operators, grouped by their effect on series.

https://prometheus.io/docs/prometheus/latest/querying/functions/ and .../operators/ define them.
Sets that differ in only one name are separate on purpose; their docstrings explain the difference.
`query_words` has the words that editors propose, with their documentation.
"""

from __future__ import annotations

# ---------------------------------------------------------------------------- operators

COMPARISON_OPERATORS = frozenset({"==", "!=", "<", "<=", ">", ">="})
"""They remove series by value, or return 0 or 1 with `bool`."""
LEFT_SET_OPERATORS = frozenset({"and", "unless"})
"""They return series of the left side only, so `or` is not one of them."""
FILTER_OPERATORS = COMPARISON_OPERATORS | LEFT_SET_OPERATORS
"""They can remove all series of a side; `or` cannot."""
UNIT_KEEPING_OPERATORS = FILTER_OPERATORS | {"or"}
"""Their values are those of a side, unless `bool` turns them into 0 or 1."""

# ---------------------------------------------------------------------------- aggregations

SELECTING_AGGREGATIONS = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})
"""Their series keep all labels; `by` only defines the groups that are compared."""
ADDING_AGGREGATIONS = frozenset({"sum", "avg"})
"""They add the values of several series."""
COUNTING_AGGREGATIONS = frozenset({"count", "group", "count_values"})
"""Their values do not depend on the scale of the values that they read."""
UNIT_KEEPING_AGGREGATIONS = SELECTING_AGGREGATIONS | {
    *("sum", "avg", "min", "max", "quantile", "stddev"),
}
"""Their values have the unit of the values that they read; `stdvar` has its square."""

# ---------------------------------------------------------------------------- functions of ranges

COUNTER_FUNCTIONS = frozenset({"rate", "irate", "increase"})
"""The growth of a counter: they read a smaller value as a restart from zero."""
PER_SECOND_FUNCTIONS = frozenset({"rate", "irate", "deriv"})
"""Their values are per second: with `deriv` of gauges, without `increase`, which is a total."""
TWO_SAMPLE_FUNCTIONS = COUNTER_FUNCTIONS | {
    *("delta", "idelta", "deriv", "predict_linear", "resets", "changes"),
}
"""They need two samples in their range, or compare neighbouring ones."""
LAST_SAMPLE_FUNCTIONS = frozenset({"irate", "idelta", "last_over_time", "timestamp"})
"""They read the newest one or two samples, however long the range is."""

# ---------------------------------------------------------------------------- functions of labels

LABEL_FUNCTIONS = frozenset({"label_replace", "label_join"})
"""They write one label, which their second argument names."""
LABEL_ADDING_FUNCTIONS = LABEL_FUNCTIONS | {"histogram_quantiles"}
"""They can add a label, which a string among their arguments names."""
BUCKET_FUNCTIONS = frozenset({"histogram_quantile", "histogram_fraction"})
"""They return one sample for all buckets of a histogram, without the label `le`."""

# ---------------------------------------------------------------------------- functions of values

ABSENCE_FUNCTIONS = frozenset({"absent", "absent_over_time"})
"""They return a series, with the labels of the matchers, if there is none."""
VALUE_IGNORING_FUNCTIONS = frozenset({"absent", "count", "group", "present_over_time", "timestamp"})
"""Functions and aggregations that do not use the values of an instant vector."""
UNIT_KEEPING_FUNCTIONS = LABEL_FUNCTIONS | {
    *("increase", "delta", "idelta", "avg_over_time", "min_over_time", "max_over_time"),
    *("sum_over_time", "last_over_time", "first_over_time", "quantile_over_time"),
    *("stddev_over_time", "abs", "ceil", "floor", "round", "clamp", "clamp_max", "clamp_min"),
    *("sort", "sort_desc", "scalar", "vector"),
}
"""Their values have the unit of the values that they read."""
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
"""They compute the value of each series from that series of an instant vector only."""

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
"""Functions and aggregations proposed for a misspelt name: those useful in queries about nodes.

`query_words.FUNCTIONS`, the table for editors, has more of them, but not `count_values`, which
turns values into labels.
"""
