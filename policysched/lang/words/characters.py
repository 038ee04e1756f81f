"""Characters that look like ASCII, with their names and the likely intended ASCII."""

from __future__ import annotations

import unicodedata

from policysched import control_characters

_LOOKALIKES = str.maketrans(
    {
        **dict(
            zip(
                "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0405\u0408",
                "aeopcyxisjABEKMHOPCTXISJ",
                strict=True,
            )
        ),
        **dict(
            zip(
                "\u03bf\u03b1\u03bd\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
                "oavABEZHIKMNOPTYX",
                strict=True,
            )
        ),
        **dict.fromkeys(
            "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2018\u2019\u201a\u201b\u2032\u2033", '"'
        ),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        "\u2264": "<=",
        "\u2265": ">=",
        "\u2260": "!=",
        "\u00d7": "*",
        "\u2217": "*",
        "\u00f7": "/",
        "\u2227": " and ",
        "\u2228": " or ",
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
    }
)


def describe_character(char: str) -> str:
    """Return the code point and name of a character, such as `U+00A0 NO-BREAK SPACE`."""
    name = unicodedata.name(char, "") or _CONTROL_NAMES.get(char, "")
    return f"U+{ord(char):04X} {name}".rstrip()


def replace_lookalikes(text: str) -> str:
    """Replace characters that look like ASCII with ASCII characters."""
    plain = unicodedata.normalize("NFKC", text.translate(_LOOKALIKES))
    return "".join(
        " " if char.isspace() else char for char in control_characters.UNSEEN.sub("", plain)
    )


def find_word_around(text: str, offset: int) -> tuple[int, int]:
    """Return the range around a character up to blanks, quotes or `#`; for a blank, its own."""
    if text[offset].isspace():
        return offset, offset + 1
    start, end = offset, offset + 1
    while start > 0 and not _is_word_end(text[start - 1]):
        start -= 1
    while end < len(text) and not _is_word_end(text[end]):
        end += 1
    return start, end


def _is_word_end(char: str) -> bool:
    return char.isspace() or char in '"`#'


_CONTROL_NAMES = {
    "\x00": "NULL",
    "\x07": "BELL",
    "\x08": "BACKSPACE",
    "\x0b": "VERTICAL TABULATION",
    "\x0c": "FORM FEED",
    "\x1b": "ESCAPE",
    "\x7f": "DELETE",
    "\x9b": "CONTROL SEQUENCE INTRODUCER",
}
"""Names of control characters, because Unicode does not define any."""
