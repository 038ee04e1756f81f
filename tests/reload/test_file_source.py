"""Policies in files: a version is offered when it has settled, and whole."""

from __future__ import annotations

import asyncio
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence

import pytest

from policysched import errors
from policysched.reload import file_source, versions
from tests.kube.asynchronous import asynchronous

Step = Callable[[], object]


async def _follow(
    folder: pathlib.Path, steps: Sequence[Step], known: versions.OfferedVersion | None = None
) -> list[versions.OfferedVersion]:
    """Return what is offered while something is done before each look, until all has settled."""
    offers: list[versions.OfferedVersion] = []
    rest: Iterator[Step] = iter(steps)
    quiet = 0
    over = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        nonlocal quiet
        step = next(rest, None)
        if step is not None:
            step()
            return
        quiet += 1
        if quiet > 3:
            over.set()
            await asyncio.Event().wait()

    source = file_source.PolicyFileSource((str(folder),), 1.0, sleep)
    following = asyncio.create_task(source.run(offers.append, known or await source.read_first()))
    await over.wait()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    return offers


def _contents(offer: versions.OfferedVersion) -> dict[str, str]:
    return {text.name.rpartition("/")[2]: text.text for text in offer.texts}


def _write(file: pathlib.Path, text: str) -> Step:
    return lambda: file.write_text(text, encoding="utf-8")


@asynchronous
async def test_an_edit_is_offered_once(tmp_path: pathlib.Path) -> None:
    """What does not change is not offered again."""
    file = tmp_path / "a.policy"
    file.write_text("one")
    offers = await _follow(tmp_path, [lambda: None, _write(file, "two"), lambda: None])
    assert [_contents(offer) for offer in offers] == [{"a.policy": "two"}]


@asynchronous
async def test_what_an_editor_does_in_between_is_not_offered(tmp_path: pathlib.Path) -> None:
    """Emptied, written in parts, replaced by a temporary file: only the end of it counts."""
    file, other = tmp_path / "a.policy", tmp_path / "b.policy"
    file.write_text("one")
    temporary = tmp_path / ".a.policy.swp"
    temporary.write_text("the end")
    steps = [
        _write(file, ""),
        _write(file, "half"),
        _write(file, "half and half"),
        _write(other, "second"),
        file.unlink,
        lambda: temporary.rename(file),
    ]
    offers = await _follow(tmp_path, steps)
    assert [_contents(offer) for offer in offers] == [{"a.policy": "the end", "b.policy": "second"}]


@asynchronous
async def test_an_edit_that_is_taken_back_at_once_is_one_of_nothing(
    tmp_path: pathlib.Path,
) -> None:
    """What was there before is what is there: whoever takes it finds no difference."""
    file = tmp_path / "a.policy"
    file.write_text("one")
    offers = await _follow(tmp_path, [_write(file, "two"), _write(file, "one")])
    assert [_contents(offer) for offer in offers] == [{"a.policy": "one"}]


@asynchronous
async def test_files_that_are_gone_are_a_problem_to_be_told(tmp_path: pathlib.Path) -> None:
    """An empty folder does not mean that there should be no policies."""
    file = tmp_path / "a.policy"
    file.write_text("one")
    offers = await _follow(tmp_path, [file.unlink])
    assert [offer.texts for offer in offers] == [()]
    assert "has no file that ends in `.policy`" in offers[0].problem


def test_at_the_start_it_is_an_error(tmp_path: pathlib.Path) -> None:
    """Nothing has been used before."""
    with pytest.raises(errors.InputError, match="has no file"):
        file_source.PolicyFileSource((str(tmp_path),), 1.0).read_settled_version()


class Mount:
    """A ConfigMap as kubelet mounts it (pkg/volume/util/atomic_writer.go)."""

    def __init__(self, folder: pathlib.Path, contents: dict[str, str]) -> None:
        self.folder = folder
        self._count = 0
        self.swap(contents)
        for key in contents:
            (folder / key).symlink_to(pathlib.Path("..data") / key)

    def swap(self, contents: dict[str, str]) -> None:
        """Let all keys change at once."""
        self._count += 1
        target = self.folder / f"..2026_{self._count}"
        target.mkdir()
        for key, text in contents.items():
            (target / key).write_text(text)
        link = self.folder / "..data_tmp"
        link.symlink_to(target.name)
        link.rename(self.folder / "..data")


@asynchronous
async def test_a_mounted_config_map_is_swapped(tmp_path: pathlib.Path) -> None:
    """All keys change together; a key that is not linked yet counts, one that is gone does not."""
    mount = Mount(tmp_path, {"a.policy": "a1", "b.policy": "b1"})
    steps: list[Step] = [
        lambda: mount.swap({"a.policy": "a2", "b.policy": "b2"}),
        lambda: None,
        lambda: mount.swap({"a.policy": "a3", "c.policy": "c3"}),
    ]
    offers = await _follow(tmp_path, steps)
    assert [_contents(offer) for offer in offers] == [
        {"a.policy": "a2", "b.policy": "b2"},
        {"a.policy": "a3", "c.policy": "c3"},
    ]
    assert offers[0].texts[0].name == str(tmp_path / "a.policy")


@pytest.mark.parametrize("is_named_by_file", [False, True], ids=["folder", "files"])
def test_a_swap_in_the_middle_of_reading_is_not_seen(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, *, is_named_by_file: bool
) -> None:
    """Keys are of one version, whether the folder is named or each file."""
    mount = Mount(tmp_path, {"a.policy": "1", "b.policy": "1"})
    paths = [tmp_path / "a.policy", tmp_path / "b.policy"] if is_named_by_file else [tmp_path]
    opened = 0
    really_open = pathlib.Path.open

    def open_and_swap(path: pathlib.Path, mode: str = "r") -> object:
        nonlocal opened
        found = really_open(path, mode)
        opened += 1
        if opened == 1:
            monkeypatch.undo()
            mount.swap({"a.policy": "2", "b.policy": "2"})
        return found

    monkeypatch.setattr(pathlib.Path, "open", open_and_swap)
    offer = file_source.PolicyFileSource([str(path) for path in paths], 1.0).read_settled_version()
    assert opened == 1
    assert _contents(offer) == {"a.policy": "2", "b.policy": "2"}


@asynchronous
async def test_a_file_that_cannot_be_read_to_the_end_holds_up_no_process(
    tmp_path: pathlib.Path,
) -> None:
    """A pipe that nobody writes to, or a hung network folder, keeps the thread that reads it."""
    file = tmp_path / "a.policy"
    file.write_text("one")
    source = file_source.PolicyFileSource((str(file),), 0.0)
    known = await source.read_first()
    file.unlink()
    os.mkfifo(file)
    following = asyncio.create_task(source.run(lambda _: None, known))
    with await asyncio.to_thread(file.open, "wb"):  # as soon as somebody reads
        following.cancel()
        await asyncio.wait_for(asyncio.get_running_loop().shutdown_default_executor(), 60.0)
    await asyncio.gather(following, return_exceptions=True)
