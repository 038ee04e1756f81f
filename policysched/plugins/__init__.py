"""The built-in plugins, named and behaving as those of kube-scheduler 1.36.

A plugin is a file, or a folder if it has more than one. `names` spells them, `registry` makes them
from arguments, `defaults` says which are on and how much they weigh. Plugins never import each
other. They share pure functions in `kernels`, checked `arguments`, and `shared`: queueing hints,
cached answers, texts about nodes, resource arguments.
"""
