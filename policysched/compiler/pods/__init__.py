"""What policies say about pods: fields, selectors, sets, and whom a rule is for."""
