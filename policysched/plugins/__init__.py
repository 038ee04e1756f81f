"""The built-in plugins, with the names and behaviour of kube-scheduler 1.36.

A plugin is a module, or a package if it has several modules. `names` defines their names,
`registry` creates them from arguments, and `defaults` lists the plugins that are enabled by default
and their weights. Plugins do not import each other. They share pure functions in `kernels`, the
checks in `arguments`, and `shared`: queueing hints, caches, texts about nodes and resource
arguments.
"""
