"""Policies and configuration become profiles: plugin sets, needed kinds, the choice for a pod."""
