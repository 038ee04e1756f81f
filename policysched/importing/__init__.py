"""What other schedulers are configured with, rewritten as policies and configuration.

A folder or a module for each kind of source:

    kube_scheduler   KubeSchedulerConfiguration v1beta1 to v1, the flags of kube-scheduler, and
                     Policy (predicates and priorities), until Kubernetes 1.22
    tas_policy       TASPolicy of Intel's Telemetry Aware Scheduling
    workloads        affinity, tolerations and spread of pods and their owners

Each reads fields through `reading.fields.StrictFields`, which reports fields that no reader took,
so that nothing is lost silently, and adds to one `result.outcome.ImportDraft`. `importer` finds the
sources in a text and proves that what comes out is accepted by the checker.
"""
