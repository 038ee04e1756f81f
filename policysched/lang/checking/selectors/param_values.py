"""Replace `$NAME` in lists of values by the texts of params."""

from __future__ import annotations

from collections.abc import Sequence

from policysched.lang.checking import number_reading
from policysched.lang.syntax import syntax_expr


def replace_params(
    env: number_reading.NameEnvironment,
    values: Sequence[syntax_expr.RequirementValue],
    *,
    is_list: bool = True,
) -> tuple[syntax_expr.RequirementValue, ...] | None:
    """Return the values with the texts of params; None if an error was reported.

    Without `is_list`, a param must have a single text.
    """
    found: list[syntax_expr.RequirementValue] = []
    is_fine = True
    for value in values:
        if isinstance(value, syntax_expr.PodValue) or not value.param:
            found.append(value)
            continue
        texts = _read_texts(env, value, is_list=is_list)
        is_fine = is_fine and texts is not None
        found += [syntax_expr.Value(value.span, each, quoted=True) for each in texts or ()]
    return tuple(found) if is_fine else None


def _read_texts(
    env: number_reading.NameEnvironment, value: syntax_expr.Value, *, is_list: bool
) -> tuple[str, ...] | None:
    """Return the texts of a param; report a param without texts."""
    param = env.params.get(value.param)
    if param is None:
        if value.param not in env.silent_names:
            known = [f"${name}" for name, each in env.params.items() if each.unit is None]
            env.found.report_undefined_name("param", value, known)
        return None
    if param.unit is not None or (param.type == "strings" and not is_list):
        is_text = param.unit is None
        env.found.add_error(
            "PS102",
            f"`{param.name}` is {'several strings' if is_text else 'a number'}, not one string",
            value.span,
            help=f"declare it as `param {param.name}: string`"
            + (", or use `In` or `NotIn` in a selector of labels" if is_text else ""),
        )
        return None
    return param.texts
