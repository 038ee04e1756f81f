"""What policies say about nodes: selectors as masks, labels as numbers."""
