"""Policy text to meaning: no NumPy, no Kubernetes, no I/O beyond the grammar that ships.

The passes, each using only what stands before it:

    source, diagnostics   texts, places in them, findings; `rendering` shows these
    syntax                the frozen tree, as written (syntax_clause, syntax_expr)
    parser                text -> tree, every syntax error at once; scanner, fault_place and
                          syntax_messages recover from errors, lark_frontend and build* make
                          the tree
    vocabulary, units     every name a policy may say, every unit of its numbers
    checked               the meaning, ready for the compiler (checked_expr, checked_selector)
    checker               texts -> meaning, every error at once; one check_* module a subject
    formatter             tree -> canonical text (printing, layout)

`parser.parse`, `checker.check` and `formatter.format_text` are the three doors. docs/language.md is
the specification of what they accept and mean.
"""
