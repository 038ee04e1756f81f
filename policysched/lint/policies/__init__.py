"""What policies do: which rules are active, what they require of nodes, which pods they select."""
