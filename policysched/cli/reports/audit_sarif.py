"""Format the report of `audit` as SARIF: each result is about a rule and a node."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from policysched.auditing import violations
from policysched.cli.render import output
from policysched.lang import source
from policysched.lint.formats import file_regions, sarif

_MAX_PODS = 10


def make_sarif_log(
    report: Mapping[str, Any],
    result: violations.AuditResult,
    texts: Mapping[str, source.SourceText],
) -> dict[str, Any]:
    """Return a SARIF log; `result` has the rules of `report`, and `texts` the policy texts."""
    spans = {each.rule.head.name: each.rule.head.span for each in result.violations}
    rules = [f"{each['policy']}/{each['rule']}" for each in report["rules"]]
    ids = list(dict.fromkeys(rules))
    texts_of = {name: each["text"] for name, each in zip(rules, report["rules"], strict=True)}
    descriptors = [{"id": each, "shortDescription": {"text": texts_of[each]}} for each in ids]
    results = [
        {
            "ruleId": name,
            "ruleIndex": ids.index(name),
            "level": "warning",
            "message": {"text": message},
            "locations": [
                sarif.make_location(file_regions.locate_span(spans[name], texts))
                | {"logicalLocations": [{"name": node, "kind": "resource"}]}
            ],
            "partialFingerprints": {
                "policysched/v1": _make_fingerprint(name, rule["profile"], node)
            },
        }
        for name, rule in zip(rules, report["rules"], strict=True)
        for node, message in _describe_nodes(rule, names_profile=rules.count(name) > 1)
    ]
    return sarif.make_log(descriptors, results)


def _describe_nodes(rule: Mapping[str, Any], *, names_profile: bool) -> Iterator[tuple[str, str]]:
    """Yield each node with a sentence about its pods."""
    profile = f" of profile {rule['profile']}" if names_profile else ""
    for node in rule["nodes"]:
        pods = node["pods"]
        names = [f"{each['namespace']}/{each['name']}" for each in pods]
        more = f" and {len(names) - _MAX_PODS:,} more" if len(names) > _MAX_PODS else ""
        cause = pods[0]["evidence"] or pods[0]["reason"]
        count = output.format_count(len(pods), "pod")
        listed = ", ".join(names[:_MAX_PODS])
        yield node["node"], f"{count}{profile} on node {node['node']}: {listed}{more} ({cause})"


def _make_fingerprint(rule: str, profile: str, node: str) -> str:
    content = f"{rule}\0{profile}\0{node}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:32]
