"""Choose devices for claims on one node, as kube-scheduler's allocator does.

Source: `k8s.io/dynamic-resource-allocation/structured`, whose allocator "incubating" runs with the
default features of kube-scheduler 1.36. `allocator` runs these modules in this order:

    device_requests     requests → alternatives, with their class, selectors and number of devices
    device_order        devices of the node, in the order in which the search tries them
    device_search       depth first, until all requests have devices
    allocation_results  chosen devices → `status.allocation`

Tests of a device are in `device_taints`, `attribute_constraints` and `requested_capacity`.
`devices_in_use` and `pool_counters` have the devices, capacities and counters that are left.
Nothing is written here. A result depends only on the objects and the order of devices.
"""
