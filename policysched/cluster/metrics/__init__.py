"""Store metric samples for each node, windows over them, hysteresis and recent placements."""
