"""What one running process is made of; parts of `run` find here what they need, and add to it."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Callable, Coroutine

from policysched import clock as clocks
from policysched.app import cluster_sync, reflectors, writers
from policysched.config import config, election_config, run_options
from policysched.inputs import metrics_source
from policysched.kube import config_maps
from policysched.kube.auth import kubeconfig
from policysched.kube.http import client
from policysched.leadership import runner
from policysched.observability import exporter
from policysched.reload import live_profiles, state
from policysched.scheduler import scheduler as schedulers
from policysched.serving import http_server


@dataclasses.dataclass(slots=True, eq=False, kw_only=True)
class ProcessContext:
    """Everything of one process, joined but not started.

    Attributes:
        options, config: what it was started with.
        election: whether and how a leader is elected.
        clock, rng: time and chance.
        connection, api: the API server; writes wait for the lease, if there is one.
        elector: says whether this process leads.
        writers: everything that writes about pods.
        scheduler: the loop.
        reflectors: the watches that feed it.
        sync: says when they have told enough.
        profiles: what it goes by.
        policies: which version of the policies that is, and who is told of others.
        metrics: where samples come from, None for nowhere.
        metrics_exporter: the metrics of this process.
        background: runs from the start until the process ends, whether it leads or not.
        pages: what is served over HTTP, by path.
        config_map: returns the ConfigMap of the policies as last seen, None where there is none.
        stopping: set once the process is asked to end.
    """

    options: run_options.RunOptions
    config: config.Config
    election: election_config.LeaderElectionConfig
    clock: clocks.Clock
    rng: random.Random
    connection: kubeconfig.ApiClientConfig
    api: client.ApiClient
    elector: runner.LeaderElector
    writers: writers.ApiWriters
    scheduler: schedulers.Scheduler
    reflectors: reflectors.ClusterReflectors
    sync: cluster_sync.ClusterSync
    profiles: live_profiles.LiveProfiles
    policies: state.PolicyState
    metrics: metrics_source.MetricsSource | None
    metrics_exporter: exporter.MetricsExporter
    stopping: asyncio.Event
    background: list[Coroutine[None, None, None]] = dataclasses.field(default_factory=list)
    pages: dict[str, http_server.MakePage] = dataclasses.field(default_factory=dict)
    config_map: Callable[[], config_maps.ConfigMap | None] = lambda: None
