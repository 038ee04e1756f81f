"""Policies with a rule of each kind, in versions that follow each other in `busy_cluster`."""

from __future__ import annotations

_METRICS = """version 1
metric load: ratio = `load` node instance refresh 15s maxAge 2m between 0% and 105%
  placed adds requests(cpu) * 85% / allocatable(cpu) for 3m
metric io: ratio = `io` node instance refresh 15s maxAge 1m between 0% and 105%
"""
_FILTERS = """
  nodeAffinity required pool NotIn (retired) as in-use
  reject when requests(memory) > allocatable(memory) / 2 as half
  reject when free(cpu) - requests(cpu) < 200m as reserve
  reject when io > 90% missing allow as hot
  reject when (load else requested(cpu) / allocatable(cpu)) > 95% missing allow as busy
  podAntiAffinity required pods where role = noisy topologyKey kubernetes.io/hostname as quiet
  podAntiAffinity required pods where role = licensed topologyKey rack as one-licence
  podAffinity required self topologyKey region as one-region
  topologySpread self topologyKey topology.kubernetes.io/zone maxSkew 3
    whenUnsatisfiable DoNotSchedule as zones
  topologySpread self topologyKey rack maxSkew 2 whenUnsatisfiable DoNotSchedule as racks
  tolerate spot:NoSchedule during "00:00-13:00" as spot
"""
_SCORES = """
  nodeAffinity preferred disk = ssd weight 3 as ssd
  score load else 50% + 50% * requested(cpu) / allocatable(cpu) prefer low
    normalize linear(0%, 100%) missing score 0 weight 3 as least-load
  score io prefer low normalize minmax(1%) missing score 20 weight 4 as least-io
  score load prefer low normalize rank missing score 20 weight 2 as load-rank
  score free(cpu) prefer high normalize minmax missing score 0 weight 2 as most-cpu
  score requested(pods) prefer low normalize rank missing score 0 weight 2 as fewest-pods
  score free(memory) prefer high normalize max missing score 0 weight 1 as most-memory
  score label("generation") prefer high normalize minmax missing score 30 weight 2 as newest
  score label("generation") / (requested(pods) - 1) prefer high normalize max missing score 30
    weight 2 as newest-share
  score free("example.com/gpu") / allocatable("example.com/gpu")
    normalize shape(0%: 100, 50%: 80, 90%: 0) missing score 10 weight 1 as full-gpus
  podAntiAffinity preferred sameWorkload topologyKey kubernetes.io/hostname weight 4 as apart
  podAffinity preferred pods where role = database topologyKey topology.kubernetes.io/zone
    weight 2 as near-data
  podAntiAffinity preferred self topologyKey rack weight 2 as other-racks
  topologySpread self topologyKey kubernetes.io/hostname maxSkew 1
    whenUnsatisfiable ScheduleAnyway weight 3 as even-nodes
  topologySpread sameWorkload topologyKey rack maxSkew 1
    whenUnsatisfiable ScheduleAnyway weight 1 as even-racks
"""
_BY_TIME = """
  reject when load > 80% over 5m max until load < 40% missing allow as steady
  reject when label("generation") < 2 missing allow during "12:30-14:00" as too-old
  score free(cpu) prefer low normalize minmax missing score 0 expires "2026-01-05" as pack
  score io over 5m avg prefer low normalize minmax missing score 5 weight 2 as calm
  tolerate other:NoSchedule expires "2026-01-05T13:00:00Z" as other
"""
TEXTS = (
    f"{_METRICS} policy busy {{ for pods {_FILTERS} {_SCORES} }}",
    f"{_METRICS} policy busy {{ for pods {_SCORES} {_BY_TIME} }}",
    f"{_METRICS} policy busy {{ for pods where app = web {_FILTERS} {_BY_TIME} }}",
    "",
)
"""The last one is kube-scheduler's profile."""
