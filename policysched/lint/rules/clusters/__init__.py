"""Rules that compare policies with a cluster."""
