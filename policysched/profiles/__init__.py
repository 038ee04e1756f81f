"""Makes profiles from policies and configuration: plugin sets, needed kinds, choice for a pod."""
