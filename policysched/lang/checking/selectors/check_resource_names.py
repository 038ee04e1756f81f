"""Check the names of resources in `requests(…)`, `limits(…)`, `free(…)` and the like."""

from __future__ import annotations

from policysched import spelling, units
from policysched.lang.checking import number_reading
from policysched.lang.foreign import foreign_words
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import kubernetes_names, vocabulary


def report_wrong_resource(
    env: number_reading.NameEnvironment,
    function: str,
    name: syntax_expr.Value,
    domain: vocabulary.Domain,
) -> bool:
    """Report a name that is not the name of a resource; return whether one was reported.

    The function is about objects of `domain`: pods, bindings, nodes or clusters.
    """
    if name.text == units.STORAGE:
        return _report_misplaced_storage(env, function, name, domain)
    problem = kubernetes_names.find_resource_name_problem(name.text)
    if problem:
        report_invalid_resource(env, name, problem)
    return bool(problem)


def _report_misplaced_storage(
    env: number_reading.NameEnvironment,
    function: str,
    name: syntax_expr.Value,
    domain: vocabulary.Domain,
) -> bool:
    """Report `storage` where no claims of pods are read."""
    if function == "requests" and domain == "pod":
        return False
    disk = '"ephemeral-storage"'
    advice = f"for the local disk, write `{disk}`"
    if domain == "resource":
        problem = "a binding does not know the claims of its resource, which request `storage`"
    elif domain == "pod":
        problem = "the claims of a pod have requests of `storage`, but no limits"
        advice = f"for claims, write `requests(storage)`; {advice}"
    else:
        problem = f"{domain}s do not offer `storage`, which the claims of pods request"
    env.found.add_error("PS108", problem, name.span, help=advice)
    return True


def report_invalid_resource(
    env: number_reading.NameEnvironment, name: syntax_expr.Value, problem: str
) -> None:
    """Report a name that is not the name of a resource."""
    meant = foreign_words.RESOURCES.get(name.text.lower())
    near = spelling.find_nearest_names(name.text, ("cpu", "memory", "ephemeral-storage", "pods"))
    near = [meant] if meant else near
    if name.text.lower() in ("device", "devices"):
        advice = "`devices(CLASS)` is the number of devices of a DeviceClass, `freeDevices(CLASS)` "
        env.found.add_error(
            "PS104", f"`{name.text}` {problem}", name.span, help=f"{advice}of free ones"
        )
        return
    env.found.add_error(
        "PS104",
        f"`{name.text}` {problem}",
        name.span,
        label="" if meant else spelling.suggest_names(name.text, near),
        help=f"write `{near[0]}`"
        if near
        else 'names of extended resources look like "nvidia.com/gpu"',
    )
