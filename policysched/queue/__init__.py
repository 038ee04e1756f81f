"""The queues of pending pods: activeQ, backoffQ and the unschedulable pods."""
