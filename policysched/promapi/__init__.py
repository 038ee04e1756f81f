"""Metrics from Prometheus, or from whatever speaks its HTTP API (Thanos, Mimir, VictoriaMetrics).

`live_source` asks each metric's query once a refresh, off the scheduling path. On the way there:
`freshness` adds to a query when its samples were measured, `connection` sends it, `answers` reads
what comes back, `joining` finds the node of each series, `kept_samples` lets the last sample of a
node age where nothing newer came, `circuit` spares a source that is down. After a start
`range_answers` and `older_samples` bring what windows reach back to. docs/metrics.md has the rules
for answers that are not as they should be.
"""
