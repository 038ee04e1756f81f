"""Policy files named on the command line: read them, check their plugins, rewrite them."""
