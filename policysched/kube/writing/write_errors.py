"""Turn failures of writes into values for plugins."""

from __future__ import annotations

from policysched.framework import handles
from policysched.kube import errors


def make_write_error(error: errors.KubeError) -> handles.WriteError:
    """Return why an object was not written, in the words of the API server if it answered."""
    message = error.message if isinstance(error, errors.ApiError) else str(error)
    return handles.WriteError(message, isinstance(error, errors.ConflictError))
