"""What a change of policies would do to a cluster: who goes elsewhere, and by which rule."""
