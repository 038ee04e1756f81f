"""Record Kubernetes events, count equal events, and write them in either API's format."""
