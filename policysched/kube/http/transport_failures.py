"""Convert exceptions of asyncio and aiohttp about missing answers to `kube.errors`."""

from __future__ import annotations

import ssl

import aiohttp

from policysched.connections import call_connections
from policysched.kube import errors

FAILURES = (aiohttp.ClientError, OSError)  # TimeoutError is an OSError
READ_FAILURES = (*FAILURES, RuntimeError)  # aiohttp: RuntimeError if this side closed it


def make_transport_error(error: Exception, what: str) -> errors.TransportError:
    """Convert one of FAILURES or READ_FAILURES to an exception of this package.

    Args:
        error: the original exception.
        what: the call and the server, for the message.
    """
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return _make_not_trusted_error(error.certificate_error, what)
        case ssl.SSLCertVerificationError():
            return _make_not_trusted_error(error, what)
        case (
            aiohttp.ClientConnectorError()
            | aiohttp.ConnectionTimeoutError()
            | call_connections.NoConnectionError()
        ):
            text = f"{what}: no connection: {error}"
            return errors.TransportError(text, may_have_arrived=False)
        case TimeoutError():
            text = f"{what}: no answer in time"
        case _:
            text = f"{what}: the connection was lost: {str(error) or type(error).__name__}"
    return errors.TransportError(text, may_have_arrived=True)


def _make_not_trusted_error(error: Exception, what: str) -> errors.CertificateError:
    text = f"{what}: the server's certificate is not trusted: {error}"
    return errors.CertificateError(text, may_have_arrived=False)
