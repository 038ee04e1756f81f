"""What policies read of pods: fields, selectors, sets of pods, and scopes of rules."""
