"""Schedule bindings: handle watch events, queues, triggers and the results of attempts."""
