"""The built-in plugins, one file each, named and behaving as those of kube-scheduler 1.36.

`names` spells them, `registry` makes them from arguments, `defaults` says which are on and how much
they weigh. Plugins never import each other. What they share: pure functions in `kernels`, what
several say about events in `hints`, checked arguments in `arguments`, and `memo` for what they
remember about pods of one shape.
"""
