"""Tests and benchmarks end the same in every run: no chance, and no port that chance may take."""

from __future__ import annotations

import ast
import functools
import itertools
import pathlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("tests", "benchmarks")

CHANCE = {
    (
        "tests/command_parser.py",
        "random.SystemRandom",
    ): "make cel, conformance and devices print their seed",
    ("tests/fuzzing/__main__.py", "secrets.randbelow"): "make fuzz-commands prints its seed",
    ("tests/realcluster/control_plane.py", "secrets.token_urlsafe"): "a token is compared only",
    ("benchmarks/process/orphans.py", "secrets.token_hex"): "a mark that no other process may have",
}
"""What may differ between runs, and why no result depends on it."""

ANY_PORT = {
    "tests/serving/test_http_server.py": "the product's own port 0, and addresses of clients",
    "tests/kube/http/test_client.py": "a socket that is neither bound nor connected",
}
"""Where the kernel may choose a port, and why. Servers take `process.free_port()`."""

_RANDOM_MODULES = ("secrets", "uuid", "numpy.random", "np.random")
_SEEDED = ("random.Random", "random.seed", "np.random.default_rng", "numpy.random.default_rng")
_LOOPBACK = ("127.0.0.1", "127.0.0.2", "localhost", "::1", "0.0.0.0")  # noqa: S104 - looked for


def _chances(tree: ast.AST) -> Iterator[str]:
    """Yield the names of calls whose results differ between runs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            module = name.rpartition(".")[0]
            if name in _SEEDED:
                is_chance = not node.args and not node.keywords
            else:
                is_chance = module == "random" or module in _RANDOM_MODULES or name == "os.urandom"
            if is_chance:
                yield name


def _takes_any_port(tree: ast.AST) -> bool:
    """Return whether an address on this machine has port 0."""
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Tuple):
            parts = node.elts
        elif isinstance(node, ast.Call):
            parts = node.args
        if any(_is_loopback(a) and _is_zero(b) for a, b in itertools.pairwise(parts)):
            return True
    return False


def _is_loopback(node: ast.expr) -> bool:
    is_constant = isinstance(node, ast.Constant) and node.value in _LOOPBACK
    return is_constant or (isinstance(node, ast.Name) and node.id == "HOST")


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and node.value is not False


@functools.cache
def _trees() -> list[tuple[str, ast.AST]]:
    """Return all modules by their paths."""
    return [
        (str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8")))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
    ]


@pytest.mark.slow
def test_nothing_is_drawn_without_a_seed() -> None:
    """A test that draws its cases has `seeds.drawn`, or a `random.Random` with a seed."""
    assert {(path, name) for path, tree in _trees() for name in _chances(tree)} == CHANCE.keys()


@pytest.mark.slow
def test_servers_listen_below_the_ports_of_outgoing_connections() -> None:
    """Two tests, or a connection to somewhere else, would take the same port now and then."""
    assert {path for path, tree in _trees() if _takes_any_port(tree)} == ANY_PORT.keys()


@pytest.mark.parametrize(
    "text, is_chance",
    [
        ("random.SystemRandom().randrange(9)", True),
        ("random.Random()", True),
        ("random.shuffle(x)", True),
        ("np.random.default_rng()", True),
        ("uuid.uuid4()", True),
        ("random.Random(7).random()", False),
        ("rng.random()", False),
        ("np.random.default_rng(7)", False),
    ],
)
def test_chance_is_seen(text: str, *, is_chance: bool) -> None:
    """The check above would find what it is for."""
    assert bool(list(_chances(ast.parse(text)))) is is_chance


@pytest.mark.parametrize(
    "text, is_seen",
    [
        ('listener.bind(("127.0.0.1", 0))', True),
        ('web.TCPSite(runner, "127.0.0.1", 0)', True),
        ("asyncio.start_server(talk, HOST, 0)", True),
        ('listener.bind(("127.0.0.1", process.free_port()))', False),
        ("f(1, 0)", False),
    ],
)
def test_a_port_that_the_kernel_chooses_is_seen(text: str, *, is_seen: bool) -> None:
    """The check above would find what it is for."""
    assert _takes_any_port(ast.parse(text)) is is_seen
