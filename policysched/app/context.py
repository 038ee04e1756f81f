"""The context of one running process, which the components of `run` read and extend."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:  # most processes ask no extender
    from policysched.app import extenders


@dataclasses.dataclass(slots=True, eq=False, kw_only=True)
class ProcessComponents:
    """All components of one process, connected but not started.

    Attributes:
        options, config: the command-line options and the configuration of the process.
        election: the configuration of leader election.
        clock, rng: the clock and the random number generator of all components.
        connection, api: the settings of the API server and its client; with leader election,
            writes require the lease.
        elector: reports whether this process leads.
        writers: write pods, events and volumes.
        scheduler: the scheduling loop.
        reflectors: the watches that feed it.
        sync: reports whether the watches are synced.
        profiles: the profiles in use.
        policies: the version of the policies in use, and its listeners.
        metrics: the source of metric samples, or None.
        metrics_exporter: exports the metrics of this process.
        extenders: the HTTP extenders, or None.
        term: what a term of a leader does.
        background: coroutines that run until the process ends, whether it leads or not.
        pages: the pages served over HTTP, keyed by path.
        config_map: returns the ConfigMap of the policies as last seen, or None if there is none.
        stopping: set when the process is asked to stop.
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
    extenders: extenders.ConnectedExtenders | None
    term: runner.LeaderTask
    stopping: asyncio.Event
    background: list[Coroutine[None, None, None]] = dataclasses.field(default_factory=list)
    pages: dict[str, http_server.MakePage] = dataclasses.field(default_factory=dict)
    config_map: Callable[[], config_maps.ConfigMap | None] = lambda: None
