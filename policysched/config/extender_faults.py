"""Find errors of `extenders`, with the rules of kube-scheduler, and settings that need a warning.

Sources: `apis/config/validation/validation.go`, validateExtenders; client-go `transport.go`,
TLSConfigFor. `policysched.extenders.tls` reports certificates that cannot be used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from policysched import durations, server_urls
from policysched.cluster.pods import pod_requests
from policysched.extenders import settings
from policysched.inputs import plain_yaml
from policysched.lang.words import kubernetes_names

_VERB = re.compile(r"[A-Za-z0-9._~/%-]+")

_Problems = Iterator[tuple[plain_yaml.Path, str]]
"""The path of each invalid value below `extenders`, and a description of its problem."""


def find_extender_problems(extenders: Sequence[settings.ExtenderSettings]) -> _Problems:
    """Yield the problems of each extender, and those of all extenders together."""
    for index, extender in enumerate(extenders):
        for path, problem in _find_own_problems(extender):
            yield ("extenders", index, *path), f"`extenders[{index}]`: {problem}"
    yield from _find_repeated_resources(extenders)
    binding = [index for index, extender in enumerate(extenders) if extender.bind_verb]
    for index in binding[1:]:
        advice = f"remove it here or from `extenders[{binding[0]}]`"
        problem = f"`extenders[{index}]`: only one extender can have `bindVerb`; {advice}"
        yield ("extenders", index, "bindVerb"), problem


def _find_own_problems(extender: settings.ExtenderSettings) -> _Problems:
    if problem := _find_url_problem(extender.url_prefix):
        yield ("urlPrefix",), problem
    for field, verb in _list_verb_fields(extender):
        if verb and not _VERB.fullmatch(verb):
            yield (field,), f"`{field}` must be a part of a URL, such as `filter` or `v1/filter`"
    if extender.prioritize_verb and extender.weight <= 0:
        yield ("weight",), "`prioritizeVerb` needs a `weight` of at least 1"
    if durations.parse_duration_seconds(extender.http_timeout) is None:
        yield ("httpTimeout",), "`httpTimeout` must be a duration such as `5s` or `500ms`"
    if extender.tls_config is not None:
        yield from _find_tls_problems(extender.tls_config)


def _list_verb_fields(extender: settings.ExtenderSettings) -> Iterator[tuple[str, str]]:
    yield "filterVerb", extender.filter_verb
    yield "prioritizeVerb", extender.prioritize_verb
    yield "preemptVerb", extender.preempt_verb
    yield "bindVerb", extender.bind_verb


def _find_url_problem(url: str) -> str:
    """Return what is wrong with a URL, without quoting a password; "" if it is valid."""
    parts = server_urls.split_server_url(url)
    if parts is not None and not parts.query and not parts.fragment:
        return ""
    advice = "write http://HOST:PORT or https://HOST, without `?` and `#`"
    return f"`urlPrefix` is not the URL of a server; {advice}"


def _find_tls_problems(tls: settings.ExtenderTls) -> _Problems:
    """Yield settings that contradict each other, or that have no effect without another one."""
    if tls.insecure and tls.has_authorities:
        field = "caData" if tls.ca_data else "caFile"
        problem = f"`tlsConfig.insecure` trusts every server; remove it or `tlsConfig.{field}`"
        yield ("tlsConfig", "insecure"), problem
    if tls.has_certificate and not tls.has_key:
        field = "certData" if tls.cert_data else "certFile"
        problem = f"`tlsConfig.{field}` needs the key; add `keyFile` or `keyData`"
        yield ("tlsConfig", field), problem
    if tls.has_key and not tls.has_certificate:
        field = "keyData" if tls.key_data else "keyFile"
        problem = f"`tlsConfig.{field}` needs the certificate; add `certFile` or `certData`"
        yield ("tlsConfig", field), problem


def _find_repeated_resources(extenders: Sequence[settings.ExtenderSettings]) -> _Problems:
    """Yield names of managed resources that are invalid, or that appeared before."""
    known: dict[str, int] = {}
    for index, extender in enumerate(extenders):
        for number, resource in enumerate(extender.managed_resources):
            path = ("extenders", index, "managedResources", number, "name")
            problem = _find_resource_problem(resource.name)
            if not problem and resource.name in known:
                problem = f"is already a managed resource of `extenders[{known[resource.name]}]`"
            if problem:
                yield (
                    path,
                    f"`extenders[{index}]`: the managed resource `{resource.name}` {problem}",
                )
            known.setdefault(resource.name, index)


def _find_resource_problem(name: str) -> str:
    """Return what is wrong with the name of an extended resource, or "" if it is valid."""
    if problem := kubernetes_names.find_label_key_problem(name):
        return problem
    if not pod_requests.is_extended_resource(name):
        return "is not an extended resource; write a name such as `example.com/gpu`"
    # A quota for the resource is called `requests.NAME`, which must be a valid name too.
    return kubernetes_names.find_label_key_problem(f"requests.{name}")


def find_extender_warnings(extenders: Sequence[settings.ExtenderSettings]) -> Iterator[str]:
    """Yield descriptions of settings that are valid but probably not intended."""
    for index, extender in enumerate(extenders):
        where = f"`extenders[{index}]` ({extender.name})"
        is_encrypted = extender.url_prefix.lower().startswith("https://")
        if not extender.verbs:
            yield f"{where} has no verb, so it is never called"
        if is_encrypted and not extender.verifies_server:
            reason = (
                "`tlsConfig.insecure` is set"
                if extender.tls_config is not None and extender.tls_config.insecure
                else "`enableHTTPS` is set without `tlsConfig.caFile` or `caData`"
            )
            yield f"{where} is not verified, because {reason}; give its certificate authorities"
        if extender.enable_https and not is_encrypted:
            yield f"{where} is called without TLS despite `enableHTTPS`; write https:// in the URL"
