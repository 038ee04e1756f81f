"""Collects facts about a pod from a decision and the cluster."""
