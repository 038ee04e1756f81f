"""Judges placements by the pods and nodes of the API server alone."""
