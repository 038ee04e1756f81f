"""Make profiles from policies and configuration: plugin sets, needed resources, profile choice."""
