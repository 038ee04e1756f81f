"""Computes the advice of `explain pod`: changes that make another node win or make the pod fit."""
