"""Imports pods and their owners: converts their placement fields to rules."""
