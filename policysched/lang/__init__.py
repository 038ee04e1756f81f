"""Policy text to meaning: no NumPy, no Kubernetes, no I/O beyond the grammar that ships.

A text passes through these folders, each of which uses only those before it:

    source, limits   texts, places in them; limits on what a text may ask for
    words            keywords, names, numbers and characters
    syntax           the frozen tree, as written
    diagnostics      diagnostics and fixes, as data, text and JSON
    foreign          words, fields and idioms of other languages
    parsing          text -> tree, with every syntax error at once
    checked          the meaning, ready for the compiler
    checking         tree -> meaning, with every error at once
    formatting       tree -> canonical text
    interchange      trees and texts as JSON documents, and back

The entry points are `parsing.parser.parse_policy_text`, `checking.checker.check` and
`formatting.formatter.format_text`. docs/language.md specifies what they accept and mean.
"""
