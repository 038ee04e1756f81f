"""The built-in plugins, with the names and behaviour of kube-scheduler 1.36.

A plugin is a module, or a package if it has several modules. `names` defines their names,
`registry` creates them from arguments, and `defaults` lists the plugins that are enabled by default
and their weights. Plugins do not import each other. They share pure functions in `kernels`, the
checks of arguments in `arguments`, and the helpers in `shared` (queueing hints, caches, resource
arguments, and texts about nodes).
"""
