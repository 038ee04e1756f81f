"""Formats the reports of `explain`, `plan` and `test` as text, Markdown and JUnit XML."""
