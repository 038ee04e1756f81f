"""The scheduling of bindings: watch events, queues, triggers, and the writes after a decision."""
