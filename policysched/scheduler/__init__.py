"""The scheduling loop; all its output goes through `ports`."""
