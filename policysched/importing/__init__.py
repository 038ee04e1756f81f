"""Conversion of the configuration of other schedulers into policies and configuration.

Each kind of source has its own package or module:

    kube_scheduler   KubeSchedulerConfiguration v1beta1 to v1, the flags of kube-scheduler, and
                     Policy (predicates and priorities), until Kubernetes 1.22
    tas_policy       TASPolicy of Intel's Telemetry Aware Scheduling
    workloads        affinity, tolerations and spread of pods and their owners

Each of them reads fields through `reading.fields.StrictFields`, which reports unread fields so that
no field is lost silently. Each adds its results to the same `result.import_draft.ImportDraft`.
`importer` converts the sources that `source_detection` finds in a text, and keeps only statements
that the checker accepts.
"""
