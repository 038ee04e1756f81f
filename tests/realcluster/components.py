"""Builds the real components that tests and benchmarks run against, once, and finds them again.

etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, helm, prometheus, promtool,
karmada-scheduler and its estimator are Go programs. The go.mod files under tests/components pin
them and everything they are made of; several, because their Kubernetes libraries differ. The
project's own Go programs, the oracles of tests/conformance, tests/cel, tests/devices and
tests/karmada, have their go.mod beside their source.
`python -m tests.realcluster.components` builds all of them but Kubernetes' e2e suite, which
`make kubernetes-e2e` builds.

The binaries of a go.mod lie in `<cache>/components/<module>-<key>/`, where the key is a hash of
go.mod, go.sum, the source beside them, the build flags and the Go version, and `<cache>` is
`POLICYSCHED_CACHE`, else `policysched` under `XDG_CACHE_HOME` or `~/.cache`. A folder there is
complete: it is built beside and renamed. Binaries in the folder `KUBEBUILDER_ASSETS` names go
first.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from tests.realcluster import go

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MODULES_FOLDER = pathlib.Path(__file__).resolve().parents[1] / "components"
KUBERNETES_VERSION = "v1.36.3"

_BUILD_FLAGS = ("-trimpath", "-buildvcs=false", "-mod=readonly")
_STRIP = "-s -w"  # no debug information: half the size
_KUBERNETES_VERSION_FLAGS = " ".join(
    # Without these kubectl and client libraries read the server's version as v0.0.0-master.
    f"-X {variable}={value}"
    for variable, value in (
        ("k8s.io/component-base/version.gitVersion", KUBERNETES_VERSION),
        ("k8s.io/component-base/version.gitMajor", "1"),
        ("k8s.io/component-base/version.gitMinor", "36"),
        ("k8s.io/client-go/pkg/version.gitVersion", KUBERNETES_VERSION),
    )
)
_HELM_VERSION_FLAGS = " ".join(
    # As its Makefile sets them; without these, helm renders charts for Kubernetes v1.20.
    f"-X helm.sh/helm/v3/{variable}={value}"
    for variable, value in (
        ("internal/version.version", "v3.22.0"),
        ("pkg/chartutil.k8sVersionMajor", "1"),
        ("pkg/chartutil.k8sVersionMinor", "36"),
        ("pkg/lint/rules.k8sVersionMajor", "1"),
        ("pkg/lint/rules.k8sVersionMinor", "36"),
    )
)
_PROGRESS_EVERY_PACKAGES = 250
_ERROR_LINES = 15


class ComponentError(Exception):
    """A component could not be built; the text says which, with what, and why."""


@dataclasses.dataclass(frozen=True)
class Module:
    """One go.mod and the programs that it pins.

    Attributes:
        name: its folder under tests/components.
        programs: Go package by the name that its binary gets. A name that ends in `.test` gets the
            tests of its package, as `go test -c` builds them.
        linker_flags: what `go build -ldflags` gets.
        own_folder: its folder, for one that lies elsewhere.
        tags: what `go build -tags` gets.
        is_on_request: whether only a request for one of its programs builds it.
    """

    name: str
    programs: Mapping[str, str]
    linker_flags: str
    own_folder: pathlib.Path | None = None
    tags: str = ""
    is_on_request: bool = False

    @property
    def folder(self) -> pathlib.Path:
        """The folder of its go.mod."""
        return self.own_folder or MODULES_FOLDER / self.name

    def key(self, go_version: str) -> str:
        """Return the hash of everything that a build depends on."""
        digest = hashlib.sha256()
        for part in (
            (self.folder / "go.mod").read_bytes(),
            (self.folder / "go.sum").read_bytes(),
            *(
                str(path.relative_to(self.folder)).encode() + path.read_bytes()
                for path in sorted(self.folder.rglob("*.go"))
            ),
            repr(sorted(self.programs.items())).encode(),
            repr((_BUILD_FLAGS, self.linker_flags, *filter(None, [self.tags]))).encode(),
            go_version.encode(),
        ):
            digest.update(hashlib.sha256(part).digest())
        return digest.hexdigest()[:16]


KUBERNETES = Module(
    name="kubernetes",
    programs={
        "etcd": "go.etcd.io/etcd/server/v3",
        "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
        "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
        "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
        "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    },
    linker_flags=f"{_STRIP} {_KUBERNETES_VERSION_FLAGS}",
)
HELM = Module(
    name="helm",
    programs={"helm": "helm.sh/helm/v3/cmd/helm"},
    linker_flags=f"{_STRIP} {_HELM_VERSION_FLAGS}",
)
PROMETHEUS = Module(
    name="prometheus",
    programs={
        "prometheus": "github.com/prometheus/prometheus/cmd/prometheus",
        "promtool": "github.com/prometheus/prometheus/cmd/promtool",
    },
    linker_flags=_STRIP,
)
ORACLE = Module(
    name="oracle",
    programs={
        "oracle": "policysched.test/conformance/oracle",
        "timing": "policysched.test/conformance/oracle/timing",
    },
    linker_flags=_STRIP,
    own_folder=MODULES_FOLDER.parent / "conformance" / "oracle",
)
CEL_ORACLE = Module(
    name="cel-oracle",
    programs={"cel-oracle": "policysched.test/cel/oracle"},
    linker_flags=_STRIP,
    own_folder=MODULES_FOLDER.parent / "cel" / "oracle",
)
DEVICES_ORACLE = Module(
    name="devices-oracle",
    programs={"devices-oracle": "policysched.test/devices/oracle"},
    linker_flags=_STRIP,
    own_folder=MODULES_FOLDER.parent / "devices" / "oracle",
)
KARMADA_ORACLE = Module(
    name="karmada-oracle",
    programs={"karmada-oracle": "policysched.test/karmada/oracle"},
    linker_flags=_STRIP,
    own_folder=MODULES_FOLDER.parent / "karmada" / "oracle",
)
KARMADA = Module(
    name="karmada",
    programs={
        "karmada-scheduler": "github.com/karmada-io/karmada/cmd/scheduler",
        "karmada-scheduler-estimator": "github.com/karmada-io/karmada/cmd/scheduler-estimator",
    },
    linker_flags=_STRIP,
    tags="kubernetes_protomessage_one_more_release",  # as its hack/build.sh: else gRPC panics
)
KUBERNETES_E2E = Module(
    name="kubernetes-e2e",
    programs={
        "e2e.test": "k8s.io/kubernetes/test/e2e",
        "fakekubelet": "policysched.test/components/kubernetes-e2e/fakekubelet",
        "ginkgo": "github.com/onsi/ginkgo/v2/ginkgo",
    },
    linker_flags=f"{_STRIP} {_KUBERNETES_VERSION_FLAGS}",
    is_on_request=True,
)
MODULES = (
    KUBERNETES,
    HELM,
    PROMETHEUS,
    ORACLE,
    CEL_ORACLE,
    DEVICES_ORACLE,
    KARMADA_ORACLE,
    KARMADA,
    KUBERNETES_E2E,
)

test_is_marked = True
"""Whether the running test may have real components; True outside of tests."""


def binary(program: str) -> pathlib.Path:
    """Return the path of a program such as `kube-apiserver`, built first where that is needed.

    Raises:
        ComponentError: it cannot be built.
    """
    provided = _provided(program)
    if provided is not None:
        return provided
    module = next(module for module in MODULES if program in module.programs)
    return build(module) / program


def cache_folder() -> pathlib.Path:
    """Return the folder that holds one folder per built module."""
    if own := os.environ.get("POLICYSCHED_CACHE"):
        return pathlib.Path(own) / "components"
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "policysched" / "components"


def build(module: Module) -> pathlib.Path:
    """Return the folder with the module's binaries, after building them if it is missing.

    Raises:
        ComponentError: there is no suitable Go, it failed, or the running test has no mark.
    """
    programs = ", ".join(module.programs)
    if not test_is_marked:
        raise ComponentError(f"cannot build {programs} for a test that is not marked `e2e`")
    try:
        folder = cache_folder() / f"{module.name}-{module.key(go.version())}"
        if folder.is_dir():
            return folder
        with _locked(folder):
            if not folder.is_dir():  # another process may have built it in the meantime
                _build_into(folder, module, go.install())
    except (go.GoError, OSError) as error:
        raise ComponentError(f"cannot build {programs}: {error}") from error
    return folder


def _provided(program: str) -> pathlib.Path | None:
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    candidate = pathlib.Path(assets, program) if assets else None
    return candidate if candidate is not None and os.access(candidate, os.X_OK) else None


@contextlib.contextmanager
def _locked(folder: pathlib.Path) -> Iterator[None]:
    """Hold the lock beside a folder; the system frees it when the process ends in any way."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for the build of {folder.name} by another process", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_into(folder: pathlib.Path, module: Module, go_binary: pathlib.Path) -> None:
    programs = ", ".join(module.programs)
    print(f"building {programs} with {go_binary} (some minutes, once)", flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        unfinished = pathlib.Path(scratch) / "bin"
        for program, package in module.programs.items():
            _go_build(go_binary, module, package, unfinished / program)
        unfinished.rename(folder)
    print(f"built {programs} into {folder}", flush=True)


def _go_build(go_binary: pathlib.Path, module: Module, package: str, output: pathlib.Path) -> None:
    verb = ["test", "-c"] if output.suffix == ".test" else ["build", "-v"]
    command = [str(go_binary), *verb, *_BUILD_FLAGS]
    command += ["-tags", module.tags] if module.tags else []
    command += ["-ldflags", module.linker_flags, "-o", str(output), package]
    process = subprocess.Popen(
        command,
        cwd=module.folder,
        env=go.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        last_lines = _show_progress(output.name, process)
    if process.returncode != 0:
        raise go.GoError(
            f"`{' '.join(command[:2])} {package}` in {module.folder} ended with "
            f"{process.returncode}\n" + "\n".join(last_lines)
        )


def _show_progress(program: str, process: subprocess.Popen[str]) -> collections.deque[str]:
    """Print a line now and then while `go build -v` names packages; return its last lines."""
    last_lines: collections.deque[str] = collections.deque(maxlen=_ERROR_LINES)
    assert process.stderr is not None
    for count, line in enumerate(process.stderr, start=1):
        last_lines.append(line.rstrip())
        if count % _PROGRESS_EVERY_PACKAGES == 0:
            print(f"  {program}: {count} packages compiled or fetched", flush=True)
    return last_lines


def main() -> int:
    """Build what tests need and is missing, and print where it lies."""
    try:
        for module in MODULES:
            if module.is_on_request:
                continue
            missing = [name for name in module.programs if _provided(name) is None]
            if missing:
                print(f"{module.name}: {build(module)}")
    except ComponentError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
