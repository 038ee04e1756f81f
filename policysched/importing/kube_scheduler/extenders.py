"""Reports extenders: servers that kube-scheduler calls, but policysched does not."""

from __future__ import annotations

from policysched import server_urls
from policysched.importing.reading import fields
from policysched.importing.result import findings

_ADVICE = "write its decision as a policy, or as a plugin in Python"
_TAS_ADVICE = "import its TASPolicy objects, which define its decisions"


def report_extenders(given: fields.StrictFields, report: findings.FindingCollector) -> list[str]:
    """Report each extender, and return the resources that only extenders manage.

    These resources have `ignoredByScheduler: true`. Pods request them, but no node has them, so
    NodeResourcesFit must ignore them (`framework/plugins/noderesources/fit.go`).

    Raises:
        InputError: the address of an extender is not the URL of a server.
    """
    ignored: list[str] = []
    for extender in given.read_objects("extenders"):
        url = _format_extender_url(extender)
        verbs = [
            verb.removesuffix("Verb")
            for verb in ("filterVerb", "prioritizeVerb", "preemptVerb", "bindVerb")
            if extender.read_value(verb)
        ]
        for resource in extender.read_objects("managedResources"):
            name = resource.read_text("name")
            if resource.read_boolean("ignoredByScheduler", default=False):
                ignored.append(name)
            resource.skip_fields("name")
        extender.read_all_values()  # the finding below covers all fields
        does = f" ({', '.join(verbs)})" if verbs else ""
        advice = _TAS_ADVICE if "tas-service" in url or "telemetry" in url else _ADVICE
        report.warn(extender.place, f"the extender {url}{does} cannot be called", advice)
    return list(dict.fromkeys(ignored))


def _format_extender_url(extender: fields.StrictFields) -> str:
    """Return the URL of an extender for messages, without a password."""
    url = extender.read_text("urlPrefix")
    if not url:
        return "without an address"
    if server_urls.split_server_url(url) is None:
        place = extender.locate_field("urlPrefix")
        wanted = "the URL of a server, `http[s]://HOST[:PORT][/PATH]`"
        problem = (
            f"`{place.dotted_path}` must be {wanted}, not {server_urls.format_url_for_message(url)}"
        )
        raise findings.MalformedFieldError(place, problem)
    return server_urls.format_url_for_message(url)
