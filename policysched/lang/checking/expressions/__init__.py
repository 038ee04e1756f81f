"""Checks of numbers and conditions: operands, functions, missing data."""
