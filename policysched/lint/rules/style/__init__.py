"""Rules about the form of policy texts."""
