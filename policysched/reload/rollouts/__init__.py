"""Rollouts in a running scheduler.

controller        the way of a version through its stages; read it first
parts             the version that passes stages, and what the controller uses
guard_evaluation  the verdicts of the guards
measuring         counts of decisions; query_values has the answers of Prometheus
rollout_store     the stored state; state_sync reads and writes it in the background
requests          the stored state and the requests of operators, for commands
rollout_metrics   metrics
"""
