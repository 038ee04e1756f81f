"""The Common Expression Language of device selectors, as kube-scheduler 1.36 evaluates it.

`selector` is the entry point. An expression goes through these steps, once:

    parser      text → tree, with `literals` and `macros`
    checker     names, types and constants, with `static_types` and `constant_checks`
    planner     tree → closures (`plans`), with `calls`, `comprehensions`, `lookup`, `membership`

Then `CompiledSelector.matches` runs the closures for one `device` after another, within the limits
of a `meter`. `functions` has the standard library and the libraries that Kubernetes adds.
"""
