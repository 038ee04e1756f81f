"""The functions and operators of CEL: a module for each library, and `table` for all of them."""
