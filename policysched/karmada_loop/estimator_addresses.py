"""Find the address of a member cluster's estimator.

The estimator's Service is in the host cluster, whose API server is not Karmada's. Therefore the
host name is composed from options, unless the Karmada API server has a Service of the same name
that refers to an external name.

Source: Karmada v1.18.2 `pkg/estimator/client/service.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched import errors
from policysched.cluster.objects import objects, wire
from policysched.kube import errors as kube_errors
from policysched.kube.http import client
from policysched.kube.reading import decoding
from policysched.kube.writing import paths

if TYPE_CHECKING:
    from policysched.karmada_loop import options

_POLICY = client.CallRetryPolicy(timeout_seconds=5.0, max_attempts=1)
_EXTERNAL_NAME = "ExternalName"


class EstimatorAddressError(errors.RemoteError):
    """The address of an estimator cannot be determined."""


class _ServicePort(wire.WireStruct, frozen=True):
    port: int = 0
    target_port: int | str = 0


class _ServiceSpec(wire.WireStruct, frozen=True):
    type: str = ""
    external_name: str = ""
    ports: tuple[_ServicePort, ...] = ()


class _EstimatorService(wire.WireStruct, frozen=True):
    metadata: objects.ObjectMeta = objects.ObjectMeta()
    spec: _ServiceSpec = _ServiceSpec()


async def find_estimator_addresses(
    api: client.ApiClient, said: options.EstimatorOptions, cluster: str
) -> list[tuple[str, int]]:
    """Return the hosts and ports of the estimator, in the order in which to try them.

    Raises:
        EstimatorAddressError: the Service cannot be read or used.
    """
    name, namespace = f"{said.service_prefix}-{cluster}", said.service_namespace
    try:
        answer = await api.send_request(
            "GET", paths.format_service_path(namespace, name), policy=_POLICY
        )
        spec = decoding.decode_single_object(answer, _EstimatorService).spec
    except kube_errors.NotFoundError:
        host = f"{name}.{namespace}.svc"
        return [(f"{host}.cluster.local", said.port), (host, said.port)]
    except kube_errors.KubeError as error:
        raise EstimatorAddressError(
            f"service {namespace}/{name} cannot be read: {error}"
        ) from error
    if spec.type != _EXTERNAL_NAME:
        raise EstimatorAddressError(
            f"service {namespace}/{name} is of type `{spec.type}`, not {_EXTERNAL_NAME}"
        )
    for port in spec.ports:
        if port.port == said.port and isinstance(port.target_port, int):
            return [(spec.external_name, port.target_port)]
    raise EstimatorAddressError(
        f"service {namespace}/{name} has no numeric target port for port {said.port}"
    )
