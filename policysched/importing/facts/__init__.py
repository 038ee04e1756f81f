"""Tables about kube-scheduler: its plugins by version, its predicates, its configuration fields."""
