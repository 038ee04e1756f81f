"""Metrics from Prometheus, or from servers with the same HTTP API (Thanos, Mimir, VictoriaMetrics).

`live_metrics_source` sends the query of each metric once per refresh, outside the scheduling path.
In a refresh, `promql.freshness` adds measurement times to the query, `connection` sends it,
`answers` decodes the answer, `series_node_join` finds the node of each series, `latest_samples`
keeps the last sample of a node if the answer has no newer one, and `circuit` delays queries to a
source that is down. After a start, `range_answers` and `older_samples` fetch the past samples that
windows need. docs/metrics.md lists the rules for irregular answers.
"""
