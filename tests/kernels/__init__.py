"""Kernels, compiled and interpreted."""
