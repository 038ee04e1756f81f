"""Settings of `policysched lint`: `.policysched.toml`, or `[tool.policysched.lint]` of a project.

The nearest one of the folder and those around it counts; `.policysched.toml` goes first.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import tomllib
from collections.abc import Mapping
from typing import Any

from policysched import errors
from policysched.lang import diagnostics
from policysched.lint import settings, thresholds

_OWN = ".policysched.toml"
_PROJECT = "pyproject.toml"
_KEYS = ("select", "ignore", "fail-level", "per-path", "levels", "thresholds", "prometheus")


def find(folder: pathlib.Path) -> tuple[settings.Settings, diagnostics.Severity | None]:
    """Return the settings that count in a folder, and the level at which findings fail.

    Raises:
        InputError: a file cannot be read, or says what is no setting.
    """
    for each in _around(folder):
        own, project = each / _OWN, each / _PROJECT
        if own.is_file():
            return read(own)
        if project.is_file() and _section(project) is not None:
            return read(project)
    return settings.Settings(), None


def read(file: pathlib.Path) -> tuple[settings.Settings, diagnostics.Severity | None]:
    """Return the settings in a file.

    Raises:
        InputError: it cannot be read, or says what is no setting.
    """
    table = _section(file)
    return _parsed(table or {}, str(file))


def prometheus(file: pathlib.Path | None, folder: pathlib.Path) -> Mapping[str, Any]:
    """Return the table `prometheus` of a settings file, or of those that count in a folder.

    Raises:
        InputError: as above.
    """
    files = (
        [file] if file else [each / name for each in _around(folder) for name in (_OWN, _PROJECT)]
    )
    for each in files:
        section = _section(each) if file or each.is_file() else None
        if section is not None or (each.name == _OWN and each.is_file()):
            return _table(section or {}, "prometheus", str(each))
    return {}


def _around(folder: pathlib.Path) -> tuple[pathlib.Path, ...]:
    return (folder, *folder.parents)


def _section(file: pathlib.Path) -> Mapping[str, Any] | None:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise errors.InputError(str(file), f"cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise errors.InputError(str(file), f"not TOML: {error}") from error
    path = ("lint",) if file.name != _PROJECT else ("tool", "policysched", "lint")
    found: Any = content
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    if found is not None and not isinstance(found, dict):
        raise errors.InputError(str(file), f"`{'.'.join(path)}` is not a table")
    return found


def _parsed(
    table: Mapping[str, Any], where: str
) -> tuple[settings.Settings, diagnostics.Severity | None]:
    for key in table:
        if key not in _KEYS:
            known = ", ".join(_KEYS)
            raise errors.InputError(where, f"`{key}` is no setting of lint", help=f"it has {known}")
    per_path = _table(table, "per-path", where)
    levels = _table(table, "levels", where)
    fail = table.get("fail-level")
    chosen = settings.Settings(
        select=codes(table.get("select", []), f"{where}: select"),
        ignore=codes(table.get("ignore", []), f"{where}: ignore"),
        per_path={
            pattern: codes(value, f"{where}: per-path.{pattern}")
            for pattern, value in per_path.items()
        },
        levels={
            codes([prefix], f"{where}: levels")[0]: level(value, f"{where}: levels.{prefix}")
            for prefix, value in levels.items()
        },
        thresholds=_thresholds(_table(table, "thresholds", where), f"{where}: thresholds"),
    )
    return chosen, None if fail is None else level(fail, f"{where}: fail-level")


def _table(table: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise errors.InputError(f"{where}: {key}", "is not a table")
    return value


def _thresholds(table: Mapping[str, Any], where: str) -> thresholds.Thresholds:
    known = {
        field.name.replace("_", "-"): field.name for field in dataclasses.fields(thresholds.DEFAULT)
    }
    given: dict[str, float] = {}
    for key, value in table.items():
        if key not in known:
            raise errors.InputError(
                where, f"`{key}` is no threshold", help=f"it has {', '.join(known)}"
            )
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 < value < math.inf:
            raise errors.InputError(f"{where}.{key}", "is not a number above 0")
        given[known[key]] = float(value)
    return thresholds.Thresholds(**given)


def codes(value: object, where: str) -> tuple[str, ...]:
    """Return beginnings of codes.

    Raises:
        InputError: it is no list of such, or one of them is the beginning of no code.
    """
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise errors.InputError(where, "is not a list of codes such as `PS203` or `PS4`")
    known = [*diagnostics.CODES, *diagnostics.LINT_CODES]
    for each in value:
        if not each or not any(code.startswith(each) for code in known):
            raise errors.InputError(where, f"no rule has a code that begins with `{each}`")
    return tuple(value)


def level(value: object, where: str) -> diagnostics.Severity:
    """Return a severity.

    Raises:
        InputError: it is none.
    """
    if value not in list(diagnostics.Severity):
        raise errors.InputError(where, f"`{value}` is not `error`, `warning` or `info`")
    return diagnostics.Severity(str(value))
