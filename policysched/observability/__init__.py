"""Logs, metrics, traces, decision records and reports of a running scheduler."""
