"""Compile the kernels: the build hook of hatchling, and `python build_kernels.py` for a checkout.

Cython compiles a copy of each module of `policysched/kernels`, in which `import cython` takes the
place of the stand-in and `SOURCE_SHA256` is the hash of the source. The environment variable
`POLICYSCHED_KERNELS` decides what happens:

    auto      compile, and go on without compiled modules if there is no C compiler (the default)
    compiled  compile, or fail
    checked   compile with checks of array bounds, or fail
    none      do not compile
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import sys
import sysconfig
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin import interface

ROOT = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path("policysched/kernels")
STAND_IN = "from policysched.kernels import cython_stand_in as cython\n"
SUBSTITUTIONS = {
    STAND_IN: "import cython\n",
    "from policysched.kernels.math_stand_in import": "from cython.cimports.libc.math import",
}
# `-ffp-contract=off`: arm64 would fuse multiplications and additions, and round differently.
# `-fwrapv`: int64 wraps around, as in Go.
COMPILER_OPTIONS = ("-O2", "-g0", "-ffp-contract=off", "-fwrapv")
DIRECTIVES: dict[str, Any] = {
    "binding": False,
    "boundscheck": False,
    "cdivision": True,
    "initializedcheck": False,
    "language_level": 3,
    "wraparound": False,
}


def list_sources() -> list[pathlib.Path]:
    """Return the modules to compile: those that import the stand-in of Cython."""
    modules = sorted((ROOT / FOLDER).glob("*.py"))
    return [path for path in modules if f"\n{STAND_IN}" in path.read_text(encoding="utf-8")]


def compute_hash(source: pathlib.Path) -> str:
    """Return the hash that a compiled module has as `SOURCE_SHA256`."""
    return hashlib.sha256(source.read_bytes()).hexdigest()


def compile_kernels(folder: pathlib.Path) -> list[pathlib.Path]:
    """Compile all kernels into `folder`/policysched/kernels and return the new files.

    Raises:
        Exception: Cython, setuptools or a C compiler is missing, or rejects a module.
    """
    compiler, *_ = (os.environ.get("CC") or sysconfig.get_config_var("CC")).split()
    if shutil.which(compiler) is None:  # before Cython translates, which takes seconds
        msg = f"there is no C compiler `{compiler}`"
        raise FileNotFoundError(msg)
    from Cython.Build import cythonize  # noqa: PLC0415 - not needed for `none`
    from setuptools import Distribution, Extension  # noqa: PLC0415 - as above

    is_checked = os.environ.get("POLICYSCHED_KERNELS") == "checked"
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    before = pathlib.Path.cwd()
    os.chdir(folder)  # relative paths make the files independent of the folder
    try:
        for source in list_sources():
            _write_copy(source, folder / FOLDER / source.name)
        extensions = cythonize(
            [
                Extension(
                    f"policysched.kernels.{source.stem}",
                    [str(FOLDER / source.name)],
                    extra_compile_args=list(COMPILER_OPTIONS),
                    extra_link_args=["-s"],
                )
                for source in list_sources()
            ],
            compiler_directives=DIRECTIVES
            | {"boundscheck": is_checked, "show_performance_hints": not is_checked},
            quiet=True,
        )
        command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
        command.build_lib, command.build_temp, command.parallel = ".", ".", os.cpu_count()
        command.ensure_finalized()
        command.run()
    finally:
        os.chdir(before)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    return [folder / FOLDER / f"{source.stem}{suffix}" for source in list_sources()]


def _write_copy(source: pathlib.Path, copy: pathlib.Path) -> None:
    text = source.read_text(encoding="utf-8")
    for text_of_stand_in, replacement in SUBSTITUTIONS.items():
        text = text.replace(text_of_stand_in, replacement)
    copy.write_text(f'{text}\n\nSOURCE_SHA256 = "{compute_hash(source)}"\n', encoding="utf-8")


def try_to_compile(folder: pathlib.Path) -> list[pathlib.Path]:
    """Return the compiled modules; without a compiler, print why there are none and return []."""
    mode = os.environ.get("POLICYSCHED_KERNELS", "auto")
    if mode not in {"auto", "compiled", "checked", "none"}:
        sys.exit(f"POLICYSCHED_KERNELS is `{mode}`, but must be auto, compiled, checked or none")
    if mode == "none":
        return []
    try:
        return compile_kernels(folder)
    except (Exception, SystemExit) as error:
        if mode != "auto":
            raise
        print(f"kernels are not compiled, and scheduling is slower: {error}", file=sys.stderr)
        return []


def install_in_place(compiled: list[pathlib.Path]) -> None:
    """Put compiled modules beside their sources, and remove those of an earlier build."""
    folder = ROOT / FOLDER
    for path in compiled:
        arriving = folder / f"{path.name}.new"
        shutil.copy(path, arriving)
        arriving.replace(folder / path.name)  # at once: another process may be importing it
    names = {path.name for path in compiled}
    for former in folder.glob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
        if former.name not in names:
            former.unlink()


class KernelsBuildHook(interface.BuildHookInterface[Any]):
    """Adds compiled kernels to a wheel; an editable installation has them beside the sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is packed."""
        if self.target_name != "wheel":
            return
        self._folder = tempfile.TemporaryDirectory()
        compiled = try_to_compile(pathlib.Path(self._folder.name))
        if version == "editable":
            if os.environ.get("POLICYSCHED_KERNELS") != "none":
                install_in_place(compiled)
        elif compiled:
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
            for path in compiled:
                build_data["force_include"][str(path)] = str(FOLDER / path.name)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder in which they were compiled."""
        if self.target_name == "wheel":
            self._folder.cleanup()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        install_in_place(try_to_compile(pathlib.Path(scratch)))
