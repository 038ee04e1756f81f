"""Why pods enter a queue: kube-scheduler's event labels (framework/events.go) and our own."""

from __future__ import annotations

POD_ADDED = "UnschedulablePodAdd"
POD_UPDATED = "UnschedulablePodUpdate"
ATTEMPT_FAILED = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POPPED_FROM_BACKOFF = "PopFromBackoffQ"
FORCE_ACTIVATED = "ForceActivate"
UNSCHEDULABLE_TIMEOUT = "UnschedulableTimeout"
PROFILES_CHANGED = "ProfilesChanged"
STILL_UNSCHEDULABLE = "StillUnschedulable"
