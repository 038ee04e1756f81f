"""What policies read of nodes: selectors as masks, labels as numbers, creation, other facts."""
