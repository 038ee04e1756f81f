"""Pure functions that the plugins are made of: arrays in, new arrays out, nothing else touched."""
