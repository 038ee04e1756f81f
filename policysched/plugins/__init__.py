"""The built-in plugins, one file each, named and behaving as those of kube-scheduler 1.36.

`names` spells them, `registry` makes them from arguments, `defaults` says which are on and how much
they weigh. Plugin files never import each other; what they share are the pure functions in
`kernels`.
"""
