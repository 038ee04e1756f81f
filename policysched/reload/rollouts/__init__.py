"""Rollouts in a running scheduler.

controller        the way of a version through its stages; read it first
parts             the version that passes stages, and what the controller uses
guard_evaluation  the verdicts of the guards; measuring counts decisions, query_values asks
records           the stored state; state_storage reads and writes it, and retries
requests          the stored state and the requests of operators, for commands
rollout_metrics   metrics
"""
