"""What other schedulers are configured with, rewritten as policies and configuration.

One module for each kind of source:

    kube_scheduler_config  KubeSchedulerConfiguration, v1beta1 to v1
    command_line           the flags of kube-scheduler
    legacy_policy          Policy (predicates and priorities), until Kubernetes 1.22
    tas_policy             TASPolicy of Intel's Telemetry Aware Scheduling
    workload               affinity, tolerations and spread of pods and their owners

Each reads fields through `fields.Fields`, which reports what nobody took, so that nothing is lost
silently, and adds to one `outcome.Outcome`. `importer` finds the sources in a text and proves that
what comes out is accepted by the checker.
"""
