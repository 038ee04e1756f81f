"""Create the leader elector from the configuration, and schedule while this process leads."""
