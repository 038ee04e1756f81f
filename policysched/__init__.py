"""policysched: a Kubernetes scheduler whose behaviour is a policy file."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.2.0"
