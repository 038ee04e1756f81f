"""Make the TLS settings of connections to an extender, as kube-scheduler makes them.

Sources: `pkg/scheduler/extender.go`, makeTransport; client-go `transport.go`, TLSConfigFor.
"""

from __future__ import annotations

import base64
import binascii
import logging
import pathlib
import ssl
import tempfile

from policysched import errors
from policysched.extenders import settings

_log = logging.getLogger(__name__)

_HELP = "each file must be readable and PEM, and the key must belong to the certificate"


def make_tls_context(extender: settings.ExtenderSettings) -> ssl.SSLContext:
    """Return the TLS context of connections; it has no effect if the URL begins with `http://`.

    Like Go, the context accepts a server whose certificate is itself listed as an authority, and
    ignores the common name of certificates.

    Raises:
        ConfigurationError: a certificate or a key cannot be read or used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not extender.verifies_server:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    tls = extender.tls_config
    if tls is not None and tls.has_authorities:
        _load_authorities(context, extender, tls)
    elif extender.verifies_server:
        context.load_default_certs()
    load_client_certificate(context, extender)
    return context


class FollowedCertificate:
    """Loads the client certificate again when one of its files has changed.

    kube-scheduler reads the files for each connection.
    """

    def __init__(self, context: ssl.SSLContext, extender: settings.ExtenderSettings) -> None:
        """Follow the files of a certificate that `context` has loaded."""
        self._context = context
        self._extender = extender
        self._changed_ns = self._read_times_ns()

    def load_if_changed(self) -> None:
        """Load a changed certificate; a certificate that cannot be used leaves the old one."""
        changed_ns = self._read_times_ns()
        if changed_ns == self._changed_ns:
            return
        self._changed_ns = changed_ns
        try:
            make_tls_context(self._extender)  # a pair that does not match would spoil the context
            load_client_certificate(self._context, self._extender)
        except errors.ConfigurationError as error:
            _log.warning("%s; the former certificate is used", error)

    def _read_times_ns(self) -> list[int]:
        """Return when the files were changed; a file that is absent was never changed."""
        tls = self._extender.tls_config
        if tls is None or not tls.has_certificate:
            return []
        files = [pathlib.Path(file) for file in (tls.cert_file, tls.key_file) if file]
        return [file.stat().st_mtime_ns if file.exists() else 0 for file in files]


def load_client_certificate(context: ssl.SSLContext, extender: settings.ExtenderSettings) -> None:
    """Load the client certificate, if there is one; new connections use it.

    Raises:
        ConfigurationError: the certificate or the key cannot be read or used.
    """
    tls = extender.tls_config
    if tls is None or not tls.has_certificate:
        return
    certificate = _read_pem(extender, "cert", tls.cert_data, tls.cert_file)
    key = _read_pem(extender, "key", tls.key_data, tls.key_file)
    # A TLS context can read only files; only this user can read the folder.
    with tempfile.TemporaryDirectory(prefix="policysched-") as folder:
        certificate_file = pathlib.Path(folder, "tls.crt")
        key_file = pathlib.Path(folder, "tls.key")
        certificate_file.write_bytes(certificate)
        key_file.write_bytes(key)
        try:
            context.load_cert_chain(certificate_file, key_file, password=_refuse_encrypted_key)
        except (ssl.SSLError, ValueError) as error:
            problem = "the client certificate and its key cannot be used together"
            raise _make_error(extender, problem) from error


def _load_authorities(
    context: ssl.SSLContext, extender: settings.ExtenderSettings, tls: settings.ExtenderTls
) -> None:
    authorities = _read_pem(extender, "ca", tls.ca_data, tls.ca_file)
    try:
        context.load_verify_locations(cadata=authorities.decode("ascii", "ignore"))
    except (ssl.SSLError, ValueError) as error:
        source = "caData" if tls.ca_data else tls.ca_file
        raise _make_error(extender, f"`{source}` contains no certificate authority") from error


def _read_pem(extender: settings.ExtenderSettings, field: str, data: str, file: str) -> bytes:
    """Return the data or, without data, the content of the file; `field` begins both names."""
    if data:
        try:
            return base64.b64decode("".join(data.split()), validate=True)
        except binascii.Error as error:
            raise _make_error(extender, f"`tlsConfig.{field}Data` is not base64") from error
    try:
        return pathlib.Path(file).read_bytes()
    except OSError as error:
        problem = f"`{file}` of `tlsConfig.{field}File` cannot be read: {error.strerror}"
        raise _make_error(extender, problem) from error


def _refuse_encrypted_key() -> bytes:
    msg = "the key is encrypted"
    raise ValueError(msg)


def _make_error(extender: settings.ExtenderSettings, problem: str) -> errors.ConfigurationError:
    return errors.ConfigurationError(f"extender {extender.name}", problem, help=_HELP)
