"""Reads the settings of `policysched lint` from `.policysched.toml` or from pyproject.toml.

In pyproject.toml, the settings are in the table `[tool.policysched.lint]`. The file in the nearest
enclosing folder applies; within a folder, `.policysched.toml` has precedence.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import pathlib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from policysched import errors, spelling
from policysched.lang.diagnostics import diagnostics
from policysched.lint import settings, thresholds

_OWN = ".policysched.toml"
_PROJECT = "pyproject.toml"
_OWN_ROOT = ("lint",)
_PROJECT_ROOT = ("tool", "policysched", "lint")
_SYNTAX_ERROR = re.compile(
    r"(?P<problem>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)"
)
_KEYS = ("select", "ignore", "fail-level", "per-path", "levels", "thresholds", "prometheus")


def find_lint_settings(
    folder: pathlib.Path,
) -> tuple[settings.LintSettings, diagnostics.Severity | None]:
    """Return the settings that apply in a folder, and the severity at which `lint` fails.

    Raises:
        InputError: a file cannot be read, or contains an invalid setting.
    """
    for each in _list_enclosing_folders(folder):
        own, project = each / _OWN, each / _PROJECT
        if _is_file(own):
            return read_lint_settings(own)
        if _is_file(project) and _read_lint_section(project) is not None:
            return read_lint_settings(project)
    return settings.LintSettings(), None


def read_lint_settings(
    file: pathlib.Path,
) -> tuple[settings.LintSettings, diagnostics.Severity | None]:
    """Return the settings in a file.

    Raises:
        InputError: the file cannot be read, or contains an invalid setting.
    """
    table = _read_lint_section(file) or {}
    with _add_location_to_errors(file):
        return _parse_settings(table)


def read_prometheus_settings(file: pathlib.Path | None, folder: pathlib.Path) -> Mapping[str, Any]:
    """Return the table `prometheus` of `file`, or of the settings file that applies in `folder`.

    Raises:
        InputError: a file cannot be read, or contains an invalid setting.
    """
    files = (
        [file]
        if file
        else [each / name for each in _list_enclosing_folders(folder) for name in (_OWN, _PROJECT)]
    )
    for each in files:
        section = _read_lint_section(each) if file or _is_file(each) else None
        if section is not None or (each.name == _OWN and _is_file(each)):
            with _add_location_to_errors(each):
                return _get_settings_table(section or {}, "prometheus")
    return {}


def _is_file(path: pathlib.Path) -> bool:
    """Return whether the path is an existing file.

    Raises:
        InputError: the folder of the file cannot be entered.
    """
    try:
        return path.is_file()
    except OSError as error:
        raise errors.InputError(str(path), f"cannot be read: {error.strerror}") from error


def _list_enclosing_folders(folder: pathlib.Path) -> tuple[pathlib.Path, ...]:
    return (folder, *folder.parents)


@contextlib.contextmanager
def _add_location_to_errors(file: pathlib.Path) -> Iterator[None]:
    """Add the file and the line of the setting to errors, which otherwise name only the setting."""
    try:
        yield
    except errors.InputError as error:
        place = _locate_setting(file, (*_get_settings_table_path(file), error.where))
        raise errors.InputError(
            f"{place}: {error.where}" if error.where else place, error.problem, help=error.help
        ) from None


def _locate_setting(file: pathlib.Path, path: Sequence[str]) -> str:
    """Return the file and the line of a key, or of the nearest enclosing table."""
    from policysched.inputs import toml_lines  # noqa: PLC0415 - only errors need lines

    lines = {
        ".".join(keys): line
        for keys, line in toml_lines.find_toml_key_lines(_read_settings_text(file)).items()
    }
    dotted = ".".join(path)
    while dotted and dotted not in lines:
        dotted = dotted.rpartition(".")[0]
    return f"{file}:{lines[dotted]}" if dotted else str(file)


def _get_settings_table_path(file: pathlib.Path) -> tuple[str, ...]:
    return _PROJECT_ROOT if file.name == _PROJECT else _OWN_ROOT


def _read_settings_text(file: pathlib.Path) -> str:
    """Return the content of a file.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise errors.InputError(str(file), f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise errors.InputError(str(file), "is not UTF-8 text") from error


def _read_lint_section(file: pathlib.Path) -> Mapping[str, Any] | None:
    """Return the table of lint settings in a file, or None if the file has no such table."""
    try:
        found: Any = tomllib.loads(_read_settings_text(file))
    except tomllib.TOMLDecodeError as error:
        place, problem = _split_toml_error(file, error)
        raise errors.InputError(place, f"not TOML: {problem}") from error
    if file.name != _PROJECT:
        for key in found.keys() - {_OWN_ROOT[0]}:
            advice = f"settings are in the table `[{_OWN_ROOT[0]}]`"
            raise errors.InputError(
                _locate_setting(file, [key]), f"`{key}` is not a setting", help=advice
            )
    for key in _get_settings_table_path(file):
        found = found.get(key) if isinstance(found, dict) else None
    if found is not None and not isinstance(found, dict):
        raise errors.InputError(
            _locate_setting(file, _get_settings_table_path(file)),
            f"`{'.'.join(_get_settings_table_path(file))}` is not a table",
        )
    return found


def _split_toml_error(file: pathlib.Path, error: tomllib.TOMLDecodeError) -> tuple[str, str]:
    """Return the place and the problem, which `tomllib` combines in one message."""
    match = _SYNTAX_ERROR.fullmatch(str(error))
    problem = match["problem"] if match else str(error)
    problem = problem[0].lower() + problem[1:]
    if match is None or match["line"] is None:
        return f"{file}:{len(_read_settings_text(file).splitlines())}", f"{problem} at the end"
    return f"{file}:{match['line']}:{match['column']}", problem


def _parse_settings(
    table: Mapping[str, Any],
) -> tuple[settings.LintSettings, diagnostics.Severity | None]:
    """Return the rule settings and the severity at which `lint` fails; refuse unknown keys."""
    for key in table:
        if key not in _KEYS:
            advice = spelling.suggest_names(key, _KEYS) or f"settings are {', '.join(_KEYS)}"
            raise errors.InputError(key, f"`{key}` is not a lint setting", help=advice)
    per_path = _get_settings_table(table, "per-path")
    levels = _get_settings_table(table, "levels")
    fail = table.get("fail-level")
    chosen = settings.LintSettings(
        select=parse_rule_code_prefixes(table.get("select", []), "select"),
        ignore=parse_rule_code_prefixes(table.get("ignore", []), "ignore"),
        per_path={
            pattern: parse_rule_code_prefixes(value, f"per-path.{pattern}")
            for pattern, value in per_path.items()
        },
        levels={
            parse_rule_code_prefixes([prefix], f"levels.{prefix}")[0]: parse_severity(
                value, f"levels.{prefix}"
            )
            for prefix, value in levels.items()
        },
        thresholds=_parse_thresholds(_get_settings_table(table, "thresholds")),
    )
    return chosen, None if fail is None else parse_severity(fail, "fail-level")


def _get_settings_table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise errors.InputError(key, "is not a table")
    return value


def _parse_thresholds(table: Mapping[str, Any]) -> thresholds.Thresholds:
    """Return the thresholds, with defaults for those that the table does not set."""
    known = {
        field.name.replace("_", "-"): field.name for field in dataclasses.fields(thresholds.DEFAULT)
    }
    given: dict[str, float] = {}
    for key, value in table.items():
        where = f"thresholds.{key}"
        if key not in known:
            advice = spelling.suggest_names(key, known) or f"thresholds are {', '.join(known)}"
            raise errors.InputError(where, f"`{key}` is not a threshold", help=advice)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 < value < math.inf:
            raise errors.InputError(where, "is not a number above 0")
        given[known[key]] = float(value)
    return thresholds.Thresholds(**given)


def parse_rule_code_prefixes(value: object, where: str) -> tuple[str, ...]:
    """Return the prefixes of rule codes in a setting.

    Raises:
        InputError: `value` is not a list of strings, or one of them is not the prefix of any code.
    """
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise errors.InputError(where, "is not a list of codes such as `PS203` or `PS4`")
    known = [*diagnostics.CODES, *diagnostics.LINT_CODES]
    for each in value:
        if not each or not any(code.startswith(each) for code in known):
            raise errors.InputError(where, f"no rule has a code that begins with `{each}`")
    return tuple(value)


def parse_severity(value: object, where: str) -> diagnostics.Severity:
    """Return the severity in a setting.

    Raises:
        InputError: `value` is not a severity.
    """
    if value not in list(diagnostics.Severity):
        raise errors.InputError(where, f"`{value}` is not `error`, `warning` or `info`")
    return diagnostics.Severity(str(value))
