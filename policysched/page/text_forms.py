"""Functions of the command line that format reports, so that the page and the commands agree."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias

FormatReport: TypeAlias = Callable[[dict[str, Any]], str]


@dataclasses.dataclass(frozen=True, slots=True)
class TextForms:
    """The text forms of the reports that the page can copy.

    Attributes:
        format_pod: formats the report of `explain pod` as text.
        format_binding: formats the report of `explain binding` as text.
        format_plan: formats the report of `plan` as text.
        format_plan_markdown: formats the report of `plan` for a pull request.
    """

    format_pod: FormatReport
    format_binding: FormatReport
    format_plan: FormatReport
    format_plan_markdown: FormatReport
