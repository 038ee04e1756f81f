"""The built-in plugins, with the names and behaviour of those of kube-scheduler 1.36.

A plugin is a file, or a folder if it has more than one. `names` has their names, `registry` creates
them from arguments, and `defaults` has those that are enabled by default and their weights. Plugins
never import each other. They share pure functions in `kernels`, checked `arguments`, and `shared`:
queueing hints, cached answers, texts about nodes, resource arguments.
"""
