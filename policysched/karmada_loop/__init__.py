"""Run the loop of `karmada run`: ask estimators, decide, write, and wait for acknowledgements."""
