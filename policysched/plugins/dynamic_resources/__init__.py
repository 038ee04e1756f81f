"""DynamicResources: allocate devices for the ResourceClaims of pods.

`dynamic_resources` is the plugin. A claim passes through these modules:

    PreEnqueue  `pod_claims` finds the claims of the pod; the pod is gated until they exist.
    PreFilter   `claim_checks` rejects claims for which no node can have devices.
                `extended_resources` adds a claim for the extended resources that device classes
                provide. `device_cycle` is the state of the pod from here on.
    Filter      `claim_availability` finds the nodes that cannot use an allocated claim. For the
                other claims, `claim_variants` groups nodes by the claims that need devices there,
                `claim_search` limits the time of all searches, and `allocation` chooses devices on
                one node. `allocation_verdicts` caches the results by set of pools. Numbers in
                policies read the devices there.
    PostFilter  `pod_binding` deallocates a claim that no other pod uses.
    Score       `claim_search` scores the chosen alternatives; the scores are cached as well.
    Reserve     Takes the devices that Filter found for the node, or searches there again. From
                here on, `cluster.devices.claims` counts them as in use.
    PreBind     `pod_binding` writes the claims of the pod, each one by `claim_binding`, and waits
                for the `binding_conditions` of their devices.
    Unreserve   `pod_binding` gives back what was not written, and withdraws reservations.

`queueing_hints` has the events that retry a rejected pod. `device_evidence`, with `device_failures`
and `claim_conflicts`, and `released_claims` serve explanations and plans.

Caches become invalid in one way each:

    pools of nodes        change logs of nodes and slices (`cluster.devices.node_pools`)
    results by set        change log of devices in use, and generation of classes
                          (`plugins.shared.known_sets`)
    results of selectors  never: a changed slice has new device objects
                          (`plugins.shared.selector_cache`)
"""
