"""The queues of pending pods: activeQ, backoffQ and the pool of unschedulable pods."""
