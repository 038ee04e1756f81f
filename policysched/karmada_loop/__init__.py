"""The loop of `karmada run`: asks estimators, decides, writes, waits for acknowledgements."""
