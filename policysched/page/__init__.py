"""A page in the browser: which node takes a pod and why, and why a pod is Pending."""
