"""The scheduling loop; it knows the outside world only through `ports`."""
