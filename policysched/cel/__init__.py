"""The Common Expression Language of device selectors, as kube-scheduler 1.36 evaluates it.

`selector` is the way in. An expression goes through these steps, once:

    parser      text → tree, with `literals` and `macros`
    checker     names, types and constants, with `static_types` and `constant_checks`
    planner     tree → closures, with `calls`, `comprehensions`, `lookup` and `membership`

Then `CompiledSelector.matches` runs the closures on one `device` after another, within the limits
of a `meter`. `functions` has the standard library and the ones that Kubernetes adds.
"""
