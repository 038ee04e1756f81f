"""What rules read of metrics: samples, added load, outages."""
