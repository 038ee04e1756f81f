"""Tables about kube-scheduler: plugins by version, predicates, configuration fields."""
