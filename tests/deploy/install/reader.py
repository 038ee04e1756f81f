"""A reader of README.md and docs/quick-start.md, who types their commands in a checkout."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import sys

from tests import page_examples
from tests.deploy import kubectl, shell_commands
from tests.realcluster import components

README = (kubectl.DEPLOY.parent / "README.md").read_text(encoding="utf-8")
_STAND_IN = '#!/bin/sh\necho "$(basename "$0") $*" >> "$HOME/commands"\n'


def read_section(title: str) -> str:
    """Return the text of a section of README.md, with those below it."""
    marks, text = re.split(rf"^(##+) {title}$", README, maxsplit=1, flags=re.MULTILINE)[1:]
    return re.split(rf"^#{{2,{len(marks)}}} ", text, maxsplit=1, flags=re.MULTILINE)[0]


def read_blocks(title: str) -> list[str]:
    """Return the commands of each block of a section."""
    blocks = page_examples.parse_blocks(read_section(title))
    return [block.body for block in blocks if block.kind == "sh"]


class Reader:
    """A person with a cluster in ~/.kube/config.

    docker, kind and minikube only record their arguments.

    Attributes:
        checkout: the working folder of commands; it has a copy of deploy/, the files of
            `make image`, and the programs of the virtual environment.
        environment: of the commands.
    """

    def __init__(self, home: pathlib.Path) -> None:
        """Fill an empty home folder."""
        self._recorded = home / "commands"
        self.checkout = home / "checkout"
        shutil.copytree(kubectl.DEPLOY, self.checkout / "deploy")
        (self.checkout / ".venv").mkdir()
        (self.checkout / ".venv" / "bin").symlink_to(pathlib.Path(sys.executable).parent)
        for name in ("Makefile", "build_image.sh"):
            shutil.copy(kubectl.DEPLOY.parent / name, self.checkout / name)
        programs = home / "bin"
        programs.mkdir()
        for name in ("helm", "kubectl"):
            (programs / name).symlink_to(components.binary(name))
        for name in ("docker", "kind", "minikube"):
            (programs / name).write_text(_STAND_IN, encoding="utf-8")
            (programs / name).chmod(0o755)
        self.environment = {"HOME": str(home), "PATH": f"{programs}:{os.defpath}"}

    def type(self, commands: str) -> str:
        """Return the output of commands, after a check that all of them succeed."""
        return shell_commands.run_commands(commands, self.checkout, self.environment)

    def read_recorded(self) -> list[str]:
        """Return the commands of the programs that record them."""
        return self._recorded.read_text(encoding="utf-8").splitlines()
