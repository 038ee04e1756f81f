"""Calls to karmada-scheduler-estimator over gRPC; the only package that knows grpclib."""
