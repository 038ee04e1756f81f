"""Define Kubernetes objects in wire format, and read selectors, names and times from them."""
