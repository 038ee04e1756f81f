"""Offline operation without a scheduler: `explain`, `simulate` and facts for `lint`."""
