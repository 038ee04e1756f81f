"""The scheduling loop: watch events, queues, triggers, and what is written after a decision."""
