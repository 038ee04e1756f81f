"""Policies in a ConfigMap, as a reflector tells of it."""

from __future__ import annotations

import random

import msgspec
import pytest

from policysched.cluster.objects import objects
from policysched.kube import config_maps
from policysched.reload import config_map_source, versions
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import FakeServer, json_body, status

PATH = "/api/v1/namespaces/prod/configmaps/policies"


def config_map(annotations: dict[str, str] | None = None, **data: str) -> config_maps.ConfigMap:
    """Return the ConfigMap with some policies."""
    named = {f"{key}.policy": text for key, text in data.items()}
    meta = objects.ObjectMeta(
        name="policies", namespace="prod", uid="u", annotations=annotations or {}
    )
    return config_maps.ConfigMap(meta, named | {"notes.txt": "no policy"})


class Scene:
    """A source whose reflector is the test."""

    def __init__(self) -> None:
        self.offers: list[versions.OfferedVersion] = []
        self.source = config_map_source.ConfigMapSource(
            None,  # type: ignore[arg-type]  # the API server is not asked
            "prod/policies",
            random.Random(1),
        )
        self.source._take = self.offers.append

    @property
    def newest(self) -> versions.OfferedVersion:
        """The offer that was made last."""
        return self.offers[-1]


@asynchronous
async def test_keys_are_texts() -> None:
    """Those that end in `.policy`, in order, named so that people find them."""
    scene = Scene()
    scene.source.replace([config_map(b="two", a="one")])
    assert [(text.name, text.text) for text in scene.newest.texts] == [
        ("prod/policies/a.policy", "one"),
        ("prod/policies/b.policy", "two"),
    ]
    assert scene.newest.problem == ""


@asynchronous
async def test_no_policies_are_a_problem() -> None:
    """A ConfigMap without keys, or none at all, does not mean that there should be no policies."""
    scene = Scene()
    scene.source.upsert(config_map())
    assert scene.newest.problem == "configmap prod/policies has no key that ends in `.policy`"
    scene.source.delete(config_map())
    assert scene.newest == versions.OfferedVersion(problem="there is no configmap prod/policies")
    assert scene.source.watched.latest is None
    assert scene.source.watched.last is not None
    scene.source.replace([])
    assert scene.newest.problem


@asynchronous
async def test_a_freeze_outlives_the_config_map() -> None:
    """A deletion must not put the version in force that the freeze holds."""
    scene = Scene()
    frozen = config_map({"policysched.io/freeze": "true"}, a="one")
    scene.source.upsert(frozen)
    scene.source.delete(frozen)
    assert scene.newest.problem
    assert scene.newest.is_frozen
    scene.source.upsert(config_map(a="one"))
    assert not scene.newest.is_frozen


@asynchronous
async def test_a_policy_that_is_no_text_spoils_the_version() -> None:
    """kubectl puts files that are not UTF-8 into binaryData: without it the rest is not whole."""
    scene = Scene()
    whole = config_map(a="one")
    scene.source.upsert(msgspec.structs.replace(whole, binary_data={"b.policy": b"\xff", "x": b""}))
    assert scene.newest.problem == "the key `b.policy` of configmap prod/policies is not UTF-8 text"


@asynchronous
async def test_a_byte_order_mark_is_no_part_of_a_text() -> None:
    """Files are read without it, too."""
    scene = Scene()
    scene.source.upsert(config_map(a="\ufeffone"))
    assert [text.text for text in scene.newest.texts] == ["one"]


@asynchronous
async def test_an_object_without_our_annotations_is_told_of() -> None:
    """Whoever replaced it took them away."""
    scene = Scene()
    told: list[str] = []
    scene.source.watched.on_bare = lambda: told.append("bare")
    scene.source.upsert(config_map({"policysched.io/hash": "abc"}, a="one"))
    scene.source.delete(config_map())
    assert told == []
    scene.source.upsert(config_map({"policysched.io/freeze": "true"}, a="one"))
    assert told == ["bare"]


@asynchronous
async def test_annotations_are_wishes() -> None:
    """Whether reloads are frozen, which version may pass, and which was in use."""
    scene = Scene()
    said = {
        "policysched.io/freeze": "true",
        "policysched.io/rollback": "abc",
        "policysched.io/hash": "def",
    }
    scene.source.upsert(config_map(said, a="one"))
    offer = scene.newest
    assert (offer.is_frozen, offer.demanded, offer.in_use) == (True, "abc", "def")


@pytest.mark.parametrize(
    "said, is_frozen",
    [
        ({"policysched.io/freeze": "TRUE"}, True),
        ({"policysched.io/freeze": "yes"}, True),
        ({"policysched.io/freeze": ""}, True),
        ({"policysched.io/freeze": "false"}, False),
        ({"policysched.io/freeze": "False"}, False),
        ({}, False),
    ],
    ids=str,
)
@asynchronous
async def test_a_freeze_is_not_misread(said: dict[str, str], is_frozen: bool) -> None:
    """Whoever annotates it in a hurry means it, however it is spelt."""
    scene = Scene()
    scene.source.upsert(config_map(said, a="one"))
    assert scene.newest.is_frozen is is_frozen


@asynchronous
async def test_the_first_version_is_waited_for() -> None:
    """An API server that is down or refuses comes back; one that has no such object says so."""
    async with FakeServer() as server:
        body = {"metadata": {"namespace": "prod", "name": "policies"}, "data": {"a.policy": "x"}}
        server.on(
            "GET",
            PATH,
            *[status(403, "Forbidden", "not yet")] * 2,
            json_body(body),
            status(404, "NotFound", "no"),
        )
        async with server.client() as api:
            source = config_map_source.ConfigMapSource(api, "prod/policies", random.Random(1))
            offer = await source.read_first()
            assert [text.text for text in offer.texts] == ["x"]
            assert len(server.sleeps) == 2
            assert (await source.read_first()).problem == "there is no configmap prod/policies"
