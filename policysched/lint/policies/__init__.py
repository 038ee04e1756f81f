"""Active rules, their requirements of nodes, and the pods that policies select."""
