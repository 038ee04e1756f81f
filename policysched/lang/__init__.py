"""The policy language: from text to checked program.

The package imports neither NumPy nor code that calls Kubernetes. It reads only the files installed
with it (grammar, documentation) and the time zone database. A text passes through these modules and
packages; each imports only the ones above it:

    source, text_limits   texts and places in them; limits on the content of a text
    words                 keywords, names, numbers and characters
    syntax                the immutable tree, as written
    diagnostics           diagnostics and fixes, as data, text and JSON
    foreign               words, fields and idioms of other languages
    parsing               text -> tree, with all syntax errors at once
    checked               the meaning, ready for the compiler
    checking              tree -> meaning, with all errors at once
    formatting            tree -> canonical text
    interchange           trees and texts as JSON documents, and back

The entry points are `parsing.parser.parse_policy_text`, `checking.checker.check` and
`formatting.formatter.format_text`. docs/language-reference.md specifies the language.
"""
