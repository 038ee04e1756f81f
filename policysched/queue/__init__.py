"""Where pods wait: activeQ, backoffQ and the pool of unschedulable pods."""
