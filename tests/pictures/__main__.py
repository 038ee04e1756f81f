"""Draw the pictures of README.md and docs/page.md again; `make pictures` calls this."""

from __future__ import annotations

from tests.pictures import page_pictures, terminal_pictures

if __name__ == "__main__":
    for name in terminal_pictures.COMMANDS:
        file = terminal_pictures.FOLDER / f"{name}.svg"
        file.write_text(terminal_pictures.draw(name), encoding="utf-8")
    page_pictures.draw_all()
