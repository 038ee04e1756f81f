"""Filter: plugins are asked about all nodes, and again within what-if questions."""
