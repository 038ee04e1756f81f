from __future__ import annotations

import pathlib

import pytest

from policysched import errors
from policysched.config import config, config_reading, election_config
from policysched.kube.election import leader_election
from policysched.leadership import election
from policysched.promapi import settings

HEAD = "apiVersion: policysched.io/v1alpha1\nkind: PolicySchedulerConfiguration\n"


def test_an_empty_configuration_has_the_defaults() -> None:
    """Nothing needs to be said besides what the file is."""
    assert config_reading.parse_config(HEAD, "c.yaml") == config.Config()


def test_an_integer_may_have_a_decimal_point() -> None:
    """`100.0` is an integer to the schema, as it is to Kubernetes."""
    given = config_reading.parse_config(
        HEAD + "clientConnection: {qps: 50, burst: 100.0}\n", "c.yaml"
    )
    assert given.client_connection.burst == 100


def test_only_numbers_of_integer_fields_become_integers() -> None:
    """A param stays a float; `1.0e+18` is an integer, which msgspec does not convert."""
    given = config_reading.parse_config(
        HEAD + "clientConnection: {qps: 50, burst: 1.0e+18}\nparams: {limit: 80.0}\n", "c.yaml"
    )
    assert given.client_connection.burst == 10**18
    assert repr(given.params) == "{'limit': 80.0}"
    assert isinstance(given.client_connection.burst, int)


def test_everything_that_can_be_said() -> None:
    """All fields arrive where they belong."""
    text = HEAD + (
        "params: {range: 10m, factor: 2}\n"
        "podInitialBackoffSeconds: 0.5\n"
        "podMaxBackoffSeconds: 20\n"
        "podMaxInUnschedulablePodsSeconds: 60\n"
        "parallelBinds: 32\n"
        "leaderElection:\n"
        "  leaderElect: true\n"
        "  leaseDuration: 1m\n"
        "  renewDeadline: 40s\n"
        "  retryPeriod: 500ms\n"
        "  resourceLock: leases\n"
        "  resourceName: other\n"
        "  resourceNamespace: ops\n"
        "clientConnection: {qps: 50, burst: 100}\n"
        "policies:\n"
        "  configMap: kube-system/policies\n"
        "  onBadStart: lastGood\n"
        "  keep: 5\n"
        "  checkEverySeconds: 2\n"
        "serving:\n"
        "  secureAddress: '[::]:10259'\n"
        "  certFile: cert.pem\n"
        "  keyFile: key.pem\n"
        "  metricsAddress: 127.0.0.1:9153\n"
        "  authentication: {enabled: false, cacheSeconds: 0}\n"
        "  authorization: {enabled: false, alwaysAllowPaths: [/livez], cacheSeconds: 5}\n"
        "decisions: {kept: 50}\n"
        "logging: {format: json, level: debug}\n"
        "tracing: {endpoint: 'http://collector:4318', samplingRatePerMillion: 1000}\n"
        "profiles:\n"
        "- schedulerName: batch\n"
        "  plugins:\n"
        "  - {name: NodeResourcesFit, weight: 2, args: {scoringStrategy: {type: MostAllocated}}}\n"
        "  disabled: [ImageLocality]\n"
        "  disabledScores: [TaintToleration]\n"
    )
    plugin = config.PluginConfig(
        "NodeResourcesFit", 2, {"scoringStrategy": {"type": "MostAllocated"}}
    )
    profile = config.ProfileConfig("batch", (plugin,), ("ImageLocality",), ("TaintToleration",))
    assert config_reading.parse_config(text, "c.yaml") == config.Config(
        params={"range": "10m", "factor": 2},
        profiles=(profile,),
        pod_initial_backoff_seconds=0.5,
        pod_max_backoff_seconds=20.0,
        pod_max_in_unschedulable_pods_seconds=60.0,
        parallel_binds=32,
        leader_election=election_config.LeaderElectionConfig(
            leader_elect=True,
            lease_duration="1m",
            renew_deadline="40s",
            retry_period="500ms",
            resource_name="other",
            resource_namespace="ops",
        ),
        client_connection=config.ClientConnection(50, 100),
        policies=config.PoliciesConfig(
            config_map="kube-system/policies",
            on_bad_start="lastGood",
            keep=5,
            check_every_seconds=2.0,
        ),
        serving=config.ServingConfig(
            secure_address="[::]:10259",
            cert_file="cert.pem",
            key_file="key.pem",
            metrics_address="127.0.0.1:9153",
            authentication=config.AuthenticationConfig(enabled=False, cache_seconds=0.0),
            authorization=config.AuthorizationConfig(
                enabled=False, always_allow_paths=("/livez",), cache_seconds=5.0
            ),
        ),
        decisions=config.DecisionsConfig(50),
        logging=config.LoggingConfig("json", "debug"),
        tracing=config.TracingConfig("http://collector:4318", 1000),
    )


@pytest.mark.parametrize(
    "text, message",
    [
        pytest.param("", "c.yaml:1: the configuration must be a mapping", id="empty"),
        pytest.param(
            "kind: PolicySchedulerConfiguration",
            "c.yaml:1: the configuration lacks `apiVersion`",
            id="no-version",
        ),
        pytest.param(
            HEAD.replace("v1alpha1", "v2"),
            "c.yaml:1: `apiVersion` must be `policysched.io/v1alpha1`",
            id="other-version",
        ),
        pytest.param(
            HEAD + "paralelBinds: 3",
            "c.yaml:3: the configuration has no field `paralelBinds` "
            "(did you mean `parallelBinds`?)",
            id="unknown-field",
        ),
        pytest.param(
            HEAD + "parallelBinds: many",
            "c.yaml:3: `parallelBinds` must be a whole number",
            id="wrong-type",
        ),
        pytest.param(
            HEAD + "parallelBinds: 0", "c.yaml:3: `parallelBinds` must be at least 1", id="minimum"
        ),
        pytest.param(
            HEAD + "podMaxBackoffSeconds: 0",
            "c.yaml:3: `podMaxBackoffSeconds` must be more than 0",
            id="zero",
        ),
        pytest.param(
            HEAD + "podMaxBackoffSeconds: 0.5",
            "c.yaml:3: `podMaxBackoffSeconds` is less than `podInitialBackoffSeconds`",
            id="backoff-shrinks",
        ),
        pytest.param(
            HEAD + "profiles:\n- schedulerName: a\n  plugins:\n  - name: X\n    wght: 2",
            "c.yaml:7: `profiles[0].plugins[0]` has no field `wght` (did you mean `weight`?)",
            id="nested",
        ),
        pytest.param(
            HEAD + "profiles:\n- schedulerName: a\n- schedulerName: a",
            "c.yaml:5: the profile `a` appears twice",
            id="twin-profiles",
        ),
        pytest.param(
            HEAD + "profiles:\n- schedulerName: a\n  plugins:\n  - name: NodeAfinity\n"
            "  disabled:\n  - ImageLocality\n  - Nonsense",
            "c.yaml:6: there is no plugin `NodeAfinity` (did you mean `NodeAffinity`?)\n"
            "c.yaml:9: there is no plugin `Nonsense`",
            id="unknown-plugins",
        ),
        pytest.param(
            HEAD + "profiles:\n- schedulerName: a\n  plugins:\n  - name: InterPodAffinity\n"
            "    args:\n      hardPodAffinityWeight: 101",
            "c.yaml:8: InterPodAffinity: `hardPodAffinityWeight` is 101, but must be from 0 to 100",
            id="arguments",
        ),
        pytest.param(
            HEAD + "prometheus:\n  east: {}",
            "c.yaml:4: `prometheus.east` lacks `url`",
            id="no-url",
        ),
        pytest.param(
            HEAD + "prometheus:\n  9x: {url: http://h}",
            "c.yaml:4: `9x` is not a name; use letters, digits, `_` and `-`",
            id="no-name",
        ),
        pytest.param(
            HEAD + "prometheus:\n  p: {url: http://h, barerToken: hunter2}",
            "c.yaml:4: `prometheus.p` has no field `barerToken` (did you mean `bearerToken`?)",
            id="unknown-source-field",
        ),
        pytest.param(
            HEAD + "prometheus:\n  p: {url: http://h, bearerToken: 12345}",
            "c.yaml:4: `prometheus.p.bearerToken` must be a string",
            id="token-no-text",
        ),
        pytest.param(
            HEAD + "prometheus:\n  p: {url: http://h, headers: {X-Scope-OrgID: 7}}",
            "c.yaml:4: `prometheus.p.headers.X-Scope-OrgID` must be a string",
            id="header-no-text",
        ),
        pytest.param(
            HEAD + "prometheus:\n  p: {url: http://h, method: PUT}",
            "c.yaml:4: `prometheus.p.method` is `POST` or `GET`",
            id="method",
        ),
        pytest.param(
            HEAD + "prometheus:\n  a: {url: http://h}\n  p: {url: 'http://u:hunter2@h'}",
            "c.yaml:5: `prometheus.p`: the URL contains a user; move it to `basicAuth`, so that it "
            "is not logged",
            id="password-in-url",
        ),
        pytest.param(
            HEAD + "leaderElection:\n  leaseDuration: 15\n",
            "c.yaml:4: `leaderElection.leaseDuration` must be a string",
            id="duration-without-unit",
        ),
        pytest.param(
            HEAD + "leaderElection:\n  retryPeriod: often\n",
            "c.yaml:4: `leaderElection`: `retryPeriod` must be a duration above 0, such as "
            "`15s` or `1m30s`",
            id="no-duration",
        ),
        pytest.param(
            HEAD + "leaderElection:\n  renewDeadline: 0s\n",
            "c.yaml:4: `leaderElection`: `renewDeadline` must be a duration above 0, such "
            "as `15s` or `1m30s`",
            id="no-time-at-all",
        ),
        pytest.param(
            HEAD + "leaderElection:\n  leaderElect: true\n  leaseDuration: 10s\n",
            "c.yaml:5: `leaderElection`: `leaseDuration` must be greater than `renewDeadline`",
            id="lease-too-short",
        ),
        pytest.param(
            HEAD + "leaderElection:\n  retryPeriod: 9s\n",
            "c.yaml:4: `leaderElection`: `renewDeadline` must be greater than 1.2 times "
            "`retryPeriod`",
            id="retries-too-rare",
        ),
        pytest.param(
            HEAD
            + "leaderElection: {leaseDuration: 900ms, renewDeadline: 500ms, retryPeriod: 100ms}",
            "c.yaml:3: `leaderElection`: `leaseDuration` must be at least `1s`",
            id="lease-of-no-second",
        ),
        pytest.param(
            HEAD + "leaderElection:\n  resourceLock: configmaps\n",
            "c.yaml:4: `leaderElection.resourceLock` must be `leases`",
            id="other-lock",
        ),
        pytest.param(
            HEAD + "clientConnection:\n  qps: 0\n",
            "c.yaml:4: `clientConnection.qps` must be more than 0",
            id="no-requests",
        ),
        pytest.param(
            HEAD + "clientConnection:\n  burst: 5\n",
            "c.yaml:4: `clientConnection.burst` has no effect without `qps`",
            id="burst-alone",
        ),
        pytest.param(
            HEAD + "policies: {paths: [a], configMap: n/a}",
            "c.yaml:3: `policies` has `paths` or `configMap`, not both",
            id="two-sources",
        ),
        pytest.param(
            HEAD + "policies:\n  paths: [a]\n  onBadStart: lastGood",
            "c.yaml:5: `policies.onBadStart: lastGood` needs `history`, which keeps earlier "
            "versions",
            id="no-history",
        ),
        pytest.param(
            HEAD + "policies:\n  configMap: n/a\n  history: n/a",
            "c.yaml:5: `policies.history` must not be the same ConfigMap as `policies.configMap`",
            id="history-in-place",
        ),
        pytest.param(
            HEAD + "policies:\n  configMap: /a",
            "c.yaml:4: `policies.configMap` must be written as NAMESPACE/NAME",
            id="no-namespace",
        ),
        pytest.param(
            HEAD + "serving:\n  metricsAddress: example.com",
            "c.yaml:4: `serving.metricsAddress` must be an address such as 127.0.0.1:9153 or "
            "[::1]:9153",
            id="no-address",
        ),
        pytest.param(
            HEAD + "serving: {secureAddress: '10.0.0.300:1'}",
            "c.yaml:3: `serving.secureAddress`: `10.0.0.300:1` is not an address; write "
            "127.0.0.1:9153 or [::1]:9153",
            id="no-such-address",
        ),
        pytest.param(
            HEAD + "serving: {page: true}",
            "c.yaml:3: `serving.page` needs `serving.secureAddress`",
            id="page-without-port",
        ),
        pytest.param(
            HEAD
            + "serving: {secureAddress: '0.0.0.0:1', page: true, authorization: {enabled: false}}",
            "c.yaml:3: `serving.page` needs `serving.authorization`",
            id="page-without-rights",
        ),
        pytest.param(
            HEAD + "serving: {secureAddress: '0.0.0.0:1', metricsAddress: '0.0.0.0:1'}",
            "c.yaml:3: `serving.metricsAddress` must differ from `serving.secureAddress`",
            id="one-port-for-two",
        ),
        pytest.param(
            HEAD + "serving: {authorization: {alwaysAllowPaths: [livez]}}",
            "c.yaml:3: `serving.authorization.alwaysAllowPaths[0]` must be a path such as /livez",
            id="no-path",
        ),
        pytest.param(
            HEAD + "tracing:\n  endpoint: collector:4317",
            "c.yaml:4: `tracing.endpoint` is not the URL of a collector; write http://HOST:4318 or "
            "https://HOST, without a user",
            id="no-url-of-a-collector",
        ),
        pytest.param(
            HEAD + "tracing: {endpoint: 'https://me:hunter2@collector'}",
            "c.yaml:3: `tracing.endpoint` is not the URL of a collector; write http://HOST:4318 or "
            "https://HOST, without a user",
            id="password-of-a-collector",
        ),
        pytest.param(
            HEAD + "logging: {level: chatty}",
            "c.yaml:3: `logging.level` is `debug`, `info`, `warning` or `error`",
            id="no-level",
        ),
        pytest.param(
            HEAD + "policies: {paths: ['']}",
            "c.yaml:3: `policies.paths[0]` is empty",
            id="no-text",
        ),
        pytest.param(
            HEAD + "leaderElection: {resourceNamespace: " + "x" * 64 + "}",
            "c.yaml:3: `leaderElection.resourceNamespace` has more than 63 characters",
            id="too-long",
        ),
        pytest.param(
            HEAD + "leaderElection:\n  resourceName: My_Lease\n",
            "c.yaml:4: `leaderElection.resourceName` must be a name of lowercase letters, digits, "
            "`-` and `.`",
            id="no-name-of-a-lease",
        ),
        pytest.param(
            HEAD + "leaderElection: {resourceNamespace: kube-system/x}",
            "c.yaml:3: `leaderElection.resourceNamespace` must be a name of lowercase letters, "
            "digits and `-`",
            id="no-namespace",
        ),
        pytest.param(
            HEAD + "profiles: [{schedulerName: A b}]",
            "c.yaml:3: `profiles[0].schedulerName` must be a name of letters, digits, `-`, `_` "
            "and `.`",
            id="no-name-of-a-scheduler",
        ),
        pytest.param(
            HEAD + "params: {a: 1}\npodInitialBackoffSeconds: 20\n",
            "c.yaml:4: `podMaxBackoffSeconds` is less than `podInitialBackoffSeconds`; the "
            "default of `podMaxBackoffSeconds` is 10",
            id="more-than-the-default",
        ),
        pytest.param(
            HEAD + "profiles: [{schedulerName: a, disabled: [A, B, B]}]",
            "c.yaml:3: `profiles[0].disabled` has `B` twice",
            id="twice",
        ),
        pytest.param(
            HEAD + "features: {SchedulerQueuingHints: true}",
            "c.yaml:3: `features` has no field `SchedulerQueuingHints` (did you mean "
            "`SchedulerQueueingHints`?)",
            id="misspelt-feature",
        ),
        pytest.param(
            HEAD + "features: {Teleport: true}",
            "c.yaml:3: `features` has no field `Teleport` (there are `SchedulerPopFromBackoffQ`, "
            "`SchedulerQueueingHints`, `OpportunisticBatching`)",
            id="no-feature",
        ),
        pytest.param(
            HEAD + "decisions: {kept: 0}\nclientConnection:\n  burst: 5\n",
            "c.yaml:3: `decisions.kept` must be at least 1\n"
            "c.yaml:5: `clientConnection.burst` has no effect without `qps`",
            id="of-both-kinds-at-once",
        ),
        pytest.param(
            HEAD + "parallelBinds: 0\npodMaxBackoffSeconds: x\n",
            "c.yaml:3: `parallelBinds` must be at least 1\n"
            "c.yaml:4: `podMaxBackoffSeconds` must be a number",
            id="all-at-once",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(text: str, message: str) -> None:
    """Every fault of a configuration is told at once, each with its line."""
    with pytest.raises(errors.ConfigurationError) as caught:
        config_reading.parse_config(text, "c.yaml")
    assert str(caught.value) == message
    assert "hunter2" not in message


def test_servers_of_metrics_and_how_to_speak_to_them() -> None:
    """Everything that can be said of a Prometheus arrives."""
    text = HEAD + (
        "prometheus:\n"
        "  default: {url: 'http://prometheus:9090'}\n"
        "  east:\n"
        "    url: https://mimir.example.com\n"
        "    pathPrefix: /prometheus\n"
        "    basicAuth: {username: me, passwordFile: /run/password}\n"
        "    tls: {caFile: ca.pem, certFile: cert.pem, keyFile: key.pem}\n"
        "    headers: {X-Scope-OrgID: team-a}\n"
        "    queryParams: {dedup: 'true'}\n"
        "    timeoutSeconds: 5\n"
        "    method: GET\n"
    )
    assert config_reading.parse_config(text, "c.yaml").prometheus == {
        "default": settings.PrometheusSource("http://prometheus:9090"),
        "east": settings.PrometheusSource(
            "https://mimir.example.com",
            path_prefix="/prometheus",
            basic_auth=settings.BasicAuth("me", password_file="/run/password"),
            tls=settings.PrometheusTls("ca.pem", "cert.pem", "key.pem"),
            headers={"X-Scope-OrgID": "team-a"},
            query_params={"dedup": "true"},
            timeout_seconds=5.0,
            method="GET",
        ),
    }


LEASE = "--leader-elect-lease-duration"


def test_flags_stand_over_the_configuration(tmp_path: pathlib.Path) -> None:
    """Single values are replaced, others stay; a flag may also take away what the file says."""
    file = tmp_path / "c.yaml"
    file.write_text(
        HEAD + "leaderElection: {retryPeriod: 1s}\n"
        "policies: {configMap: ns/name, keep: 3}\n"
        "prometheus: {default: {url: 'http://a', pathPrefix: /p}}\n"
    )
    flags = [
        config_reading.FieldOverride("--leader-elect", ("leaderElection", "leaderElect"), True),
        config_reading.FieldOverride(LEASE, ("leaderElection", "leaseDuration"), "30s"),
        config_reading.FieldOverride("--policies", ("policies", "configMap"), None),
        config_reading.FieldOverride("--policies", ("policies", "paths"), ["a.policy"]),
        config_reading.FieldOverride(
            "--prometheus", ("prometheus", "default"), {"url": "http://b"}
        ),
    ]
    found = config_reading.read_effective_config(str(file), flags)
    assert found == config.Config(
        leader_election=election_config.LeaderElectionConfig(
            leader_elect=True, lease_duration="30s", retry_period="1s"
        ),
        policies=config.PoliciesConfig(paths=("a.policy",), keep=3),
        prometheus={"default": settings.PrometheusSource("http://b")},
    )


def test_a_flag_gives_what_a_field_of_the_file_needs(tmp_path: pathlib.Path) -> None:
    """Whatever else the file lacks is still told with its line, and its form is checked first."""
    file = tmp_path / "c.yaml"
    file.write_text(HEAD + "serving: {page: true, certFile: c.pem}\n")
    port = ("serving", "secureAddress")
    address = config_reading.FieldOverride("--secure-address", port, "0.0.0.0:1")
    key = config_reading.FieldOverride("--key-file", ("serving", "keyFile"), "k.pem")
    found = config_reading.read_effective_config(str(file), [address, key]).serving
    assert (found.page, found.secure_address, found.key_file) == (True, "0.0.0.0:1", "k.pem")
    for flag, missing in ((key, "secureAddress"), (address, "keyFile")):
        with pytest.raises(errors.ConfigurationError, match=f"c.yaml:3: .* needs .*{missing}`$"):
            config_reading.read_effective_config(str(file), [flag])
    file.write_text(HEAD + "serving: 5\n")
    with pytest.raises(errors.ConfigurationError, match="`serving` must be a mapping"):
        config_reading.read_effective_config(str(file), [address])


def test_without_a_file_flags_stand_over_the_defaults() -> None:
    """The defaults of leader election are kube-scheduler's, but for the name."""
    assert config_reading.read_effective_config(None) == config.Config()
    assert election.parse_lease_timings(
        election_config.LeaderElectionConfig()
    ) == leader_election.LeaseTimings(15.0, 10.0, 2.0)
    assert election_config.LeaderElectionConfig().resource_name == "policysched"


@pytest.mark.parametrize(
    "flag, message",
    [
        pytest.param(
            config_reading.FieldOverride(LEASE, ("leaderElection", "leaseDuration"), "10s"),
            f"{LEASE}: `leaderElection`: `leaseDuration` must be greater than `renewDeadline`",
            id="not-with-the-default",
        ),
        pytest.param(
            config_reading.FieldOverride("--secure-address", ("serving", "secureAddress"), "here"),
            "--secure-address: `serving.secureAddress` must be an address such as 127.0.0.1:9153 "
            "or [::1]:9153",
            id="no-address",
        ),
        pytest.param(
            config_reading.FieldOverride("--policy-configmap", ("policies", "configMap"), "name"),
            "--policy-configmap: `policies.configMap` must be written as NAMESPACE/NAME",
            id="no-namespace",
        ),
        pytest.param(
            config_reading.FieldOverride("--key-file", ("serving", "keyFile"), "k.pem"),
            "--key-file: `serving.keyFile` needs `certFile`",
            id="half-a-pair",
        ),
    ],
)
def test_flags_that_do_not_fit_are_wrong_usage(
    flag: config_reading.FieldOverride, message: str
) -> None:
    """The option is named, for the file is not to blame."""
    with pytest.raises(errors.UsageError) as caught:
        config_reading.read_effective_config(None, [flag])
    assert str(caught.value) == message
