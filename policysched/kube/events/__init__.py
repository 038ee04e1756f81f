"""Record Kubernetes events, count repeated events, and write them in either API's format."""
