"""Follow the policies in a ConfigMap by a list and watch of this single object."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable
from typing import NoReturn

from policysched.config import config_reading
from policysched.inputs import policy_sources
from policysched.kube import config_maps, errors
from policysched.kube.http import client
from policysched.kube.reading import reflector
from policysched.lang import source
from policysched.reload import status_annotations as statuses
from policysched.reload import versions

_log = logging.getLogger(__name__)


class ConfigMapSource:
    """Offers the keys of a ConfigMap that end in `.policy`; a sink of a reflector.

    Attributes:
        origin: `configmap NAMESPACE/NAME`.
        watched: the ConfigMap.
    """

    def __init__(self, api: client.ApiClient, name: str, rng: random.Random) -> None:
        """Prepare to follow the ConfigMap `name`, given as `NAMESPACE/NAME`."""
        self.origin = f"configmap {name}"
        self._api = api
        self._namespace, _, self._name = name.partition("/")
        self.watched = statuses.WatchedConfigMap(self._read, rng)
        self._take: Callable[[versions.OfferedVersion], None] = lambda _offer: None
        resource = config_maps.make_config_map_resource(self._namespace, self._name)
        self._reflector = reflector.Reflector(api, resource, self, rng=rng)

    async def read_first(self) -> versions.OfferedVersion:
        """Return the current version of the ConfigMap; retry until the API server answers."""
        failures = 0
        while True:
            try:
                found = await self._read()
            except errors.KubeError as error:
                failures += 1
                _log.warning("waiting for the policies of %s: %s", self.origin, error)
                await self._api.pause_between_attempts(failures)
            else:
                self.watched.record_state(found)
                return self._make_offered_version()

    async def _read(self) -> config_maps.ConfigMap | None:
        reader = config_maps.ConfigMapClient(self._api)
        return await reader.read_config_map(self._namespace, self._name)

    async def run(
        self, take: Callable[[versions.OfferedVersion], None], known: versions.OfferedVersion
    ) -> NoReturn:
        """Pass every state of the ConfigMap to `take`, even repeated states and `known`."""
        self._take = take
        await self._reflector.run()

    # --- the sink ---------------------------------------------------------------------------------

    def replace(self, listed: Iterable[config_maps.ConfigMap]) -> None:
        """Process the result of a list: the ConfigMap, or nothing if it does not exist."""
        self.watched.record_state(next(iter(listed), None))
        self._take(self._make_offered_version())

    def upsert(self, config_map: config_maps.ConfigMap) -> None:
        """Process a new or changed object."""
        self.watched.record_state(config_map)
        self._take(self._make_offered_version())

    def delete(self, config_map: config_maps.ConfigMap) -> None:
        """Offer a problem instead of texts: a deletion must not remove the policies in use."""
        self.watched.record_state(None)
        self._take(self._make_offered_version())

    def _make_offered_version(self) -> versions.OfferedVersion:
        """Return the offer for the current state of the ConfigMap."""
        latest = self.watched.latest
        if latest is None:
            # A freeze outlives the object.
            last = self.watched.last
            is_frozen = last is not None and statuses.are_reloads_frozen(last.metadata.annotations)
            problem = f"there is no {self.origin}"
            return versions.OfferedVersion(problem=problem, is_frozen=is_frozen)
        texts = extract_policy_texts(latest)
        annotations = latest.metadata.annotations
        return versions.OfferedVersion(
            texts,
            problem=self._find_problem(latest, texts),
            is_frozen=statuses.are_reloads_frozen(annotations),
            demanded=annotations.get(statuses.ROLLBACK, ""),
            in_use=annotations.get(statuses.HASH, ""),
            rollout_text=latest.data.get(config_reading.ROLLOUT_KEY),
            rollout_request=annotations.get(statuses.ROLLOUT_REQUEST, ""),
        )

    def _find_problem(
        self, config_map: config_maps.ConfigMap, texts: tuple[source.SourceText, ...]
    ) -> str:
        binary = policy_sources.list_policy_keys(config_map.binary_data)
        # kubectl stores values that are not UTF-8 in `binaryData`; without them, the version would
        # be incomplete.
        if binary:
            return f"the key `{binary[0]}` of {self.origin} is not UTF-8 text"
        return "" if texts else f"{self.origin} has no key that ends in `.policy`"


def extract_policy_texts(config_map: config_maps.ConfigMap) -> tuple[source.SourceText, ...]:
    """Return the policies of a ConfigMap, ordered by key."""
    return tuple(
        source.SourceText(
            f"{config_map.namespaced_name}/{key}",
            policy_sources.strip_byte_order_mark(config_map.data[key]),
        )
        for key in policy_sources.list_policy_keys(config_map.data)
    )
