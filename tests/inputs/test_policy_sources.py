from __future__ import annotations

import pathlib

import pytest
import yaml

from policysched import errors
from policysched.inputs import policy_sources

A = "version 1\n"
B = "version 1\n# b\n"


def _config_map(data: object) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "data": data})


def test_a_folder_is_its_policy_files_by_name(tmp_path: pathlib.Path) -> None:
    """Other files, and the hidden entries of a mounted ConfigMap, are left alone."""
    for name, text in (("b.policy", B), ("a.policy", A), ("readme.md", ""), (".x.policy", "")):
        (tmp_path / name).write_text(text)
    (tmp_path / "..data").mkdir()
    (tmp_path / "sub.policy").mkdir()
    found = policy_sources.read_policy_texts([str(tmp_path)])
    assert [(text.name, text.text) for text in found] == [
        (f"{tmp_path}/a.policy", A),
        (f"{tmp_path}/b.policy", B),
    ]


def test_a_mounted_config_map_is_a_folder(tmp_path: pathlib.Path) -> None:
    """Keys of a mounted ConfigMap are links into a folder that is swapped."""
    version = tmp_path / "..2026_01_05"
    version.mkdir()
    (version / "web.policy").write_text(A)
    (tmp_path / "..data").symlink_to(version.name)
    (tmp_path / "web.policy").symlink_to("..data/web.policy")
    assert [text.key for text in policy_sources.read_policy_texts([str(tmp_path)])] == [
        "web.policy"
    ]


def test_a_manifest_has_the_policies_of_its_config_maps(tmp_path: pathlib.Path) -> None:
    """Keys that end in .policy are read, other keys and other objects are not."""
    path = tmp_path / "all.yaml"
    other = yaml.safe_dump({"kind": "Secret", "data": {"c.policy": "x"}})
    first = _config_map({"a.policy": A, "notes": "x"})
    path.write_text("---\n".join([first, other, _config_map({"b.policy": B})]))
    found = policy_sources.read_policy_texts([str(path)])
    assert [(text.key, text.text) for text in found] == [("a.policy", A), ("b.policy", B)]


def test_several_paths_are_one_namespace(tmp_path: pathlib.Path) -> None:
    """All paths are read, in order; a file may have any name."""
    (tmp_path / "a.policy").write_text("\ufeff" + A)
    (tmp_path / "b.txt").write_text(B)
    paths = [str(tmp_path / "b.txt"), str(tmp_path / "a.policy")]
    assert [text.text for text in policy_sources.read_policy_texts(paths)] == [B, A]
    assert policy_sources.read_policy_texts([*paths, paths[0]]) == policy_sources.read_policy_texts(
        paths
    )


@pytest.mark.parametrize(
    "name, content, message",
    [
        pytest.param("none.policy", None, "cannot be read: No such file", id="missing"),
        pytest.param("folder", None, "has no file that ends in `.policy`", id="empty-folder"),
        pytest.param("a.policy", b"version 1\n\xff", ":2: is not UTF-8 text", id="not-utf-8"),
        pytest.param("a.yaml", b"kind: Secret", "contains no ConfigMap", id="no-config-map"),
        pytest.param("a.yaml", b"a: [", ":2:1: not YAML", id="not-yaml"),
        pytest.param(
            "a.yaml",
            _config_map({"readme": "x"}).encode(),
            "the ConfigMap has no key that ends in `.policy`",
            id="no-key",
        ),
        pytest.param(
            "a.yaml",
            _config_map({"a.policy": 3}).encode(),
            "the key `a.policy` of the ConfigMap is not text",
            id="not-text",
        ),
    ],
)
def test_what_holds_no_policy_is_one_clear_error(
    name: str, content: bytes | None, message: str, tmp_path: pathlib.Path
) -> None:
    """The path is named and what is wrong with it."""
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    elif name == "folder":
        path.mkdir()
    with pytest.raises(errors.InputError) as caught:
        policy_sources.read_policy_texts([str(path)])
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def _named(namespace: str, name: str, text: str) -> dict[str, object]:
    metadata = {"namespace": namespace, "name": name}
    return {"kind": "ConfigMap", "metadata": metadata, "data": {"a.policy": text}}


@pytest.mark.parametrize("kind", ["documents", "List"])
def test_config_maps_with_the_same_key_are_all_read(kind: str, tmp_path: pathlib.Path) -> None:
    """Several ConfigMaps tell their texts apart by namespace and name; none is dropped."""
    maps = [_named("prod", "x", A), _named("prod", "y", B)]
    path = tmp_path / "all.yaml"
    content = yaml.safe_dump_all(maps) if kind == "documents" else ""
    path.write_text(content or yaml.safe_dump({"kind": "List", "items": maps}))
    found = policy_sources.read_policy_texts([str(path)])
    assert [(text.name, text.text) for text in found] == [
        (f"{path}/prod/x/a.policy", A),
        (f"{path}/prod/y/a.policy", B),
    ]


def test_a_config_map_that_is_there_twice_is_an_error(tmp_path: pathlib.Path) -> None:
    """Which of the two texts is meant cannot be known."""
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump_all([_named("prod", "x", A), _named("prod", "x", B)]))
    with pytest.raises(errors.InputError, match="appears twice"):
        policy_sources.read_policy_texts([str(path)])


def test_an_empty_path_is_a_usage_error() -> None:
    """It is an unset variable more likely than the current folder."""
    with pytest.raises(errors.UsageError, match="is empty"):
        policy_sources.read_policy_texts([""])


@pytest.mark.parametrize("call", ["is_dir", "iterdir"])
def test_a_folder_that_may_not_be_entered_is_one_clear_error(
    call: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's reason is told."""

    def refuse(_path: pathlib.Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pathlib.Path, call, refuse)
    with pytest.raises(errors.InputError, match="cannot be read: Permission denied"):
        policy_sources.read_policy_texts([str(tmp_path)])


def test_a_link_that_leads_nowhere_is_one_clear_error(tmp_path: pathlib.Path) -> None:
    """Without what it should lead to, the other policies are not the whole version."""
    (tmp_path / "a.policy").write_text("policy a { for pods }")
    (tmp_path / "gone.policy").symlink_to("nowhere.policy")
    with pytest.raises(errors.InputError, match=r"gone\.policy: cannot be read: No such file"):
        policy_sources.read_policy_texts([str(tmp_path)])


def test_a_policy_that_is_no_text_spoils_a_manifest(tmp_path: pathlib.Path) -> None:
    """kubectl puts files that are not UTF-8 into `binaryData`."""
    file = tmp_path / "policies.yaml"
    file.write_text("kind: ConfigMap\ndata: {a.policy: a}\nbinaryData: {note: eA==}\n")
    assert [text.text for text in policy_sources.read_policy_texts([str(file)])] == ["a"]
    file.write_text("kind: ConfigMap\ndata: {a.policy: a}\nbinaryData: {b.policy: /w==}\n")
    with pytest.raises(errors.InputError, match=r"`b\.policy` .* is not UTF-8"):
        policy_sources.read_policy_texts([str(file)])


def test_a_byte_order_mark_is_no_part_of_a_text(tmp_path: pathlib.Path) -> None:
    """Neither of a file nor of a key that was made of it."""
    (tmp_path / "a.policy").write_bytes(b"\xef\xbb\xbfone")
    (tmp_path / "b.json").write_text('{"kind": "ConfigMap", "data": {"b.policy": "\\ufefftwo"}}')
    texts = policy_sources.read_policy_texts([str(tmp_path / "a.policy"), str(tmp_path / "b.json")])
    assert [text.text for text in texts] == ["one", "two"]
