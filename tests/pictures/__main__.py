"""Draw the pictures of README.md from what the commands print now: `python -m tests.pictures`."""

from __future__ import annotations

from tests.pictures import terminal_pictures

if __name__ == "__main__":
    for name in terminal_pictures.COMMANDS:
        file = terminal_pictures.FOLDER / f"{name}.svg"
        file.write_text(terminal_pictures.draw(name), encoding="utf-8")
