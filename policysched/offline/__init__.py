"""`explain`, `simulate` and facts for `lint`, without a running scheduler."""
