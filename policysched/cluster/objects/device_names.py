"""The forms in which slices and policies write the name of an attribute or a capacity."""

from __future__ import annotations


def list_name_forms(name: str, driver: str) -> tuple[str, ...]:
    """Return the name and its other form, if it has one, for a device of `driver`.

    A name without a domain belongs to the domain of the driver: with the driver `gpu.example.com`,
    `memory` and `gpu.example.com/memory` are the same name.
    """
    domain, slash, identifier = name.rpartition("/")
    if not slash:
        return name, f"{driver}/{name}"
    return (name, identifier) if domain == driver else (name,)
