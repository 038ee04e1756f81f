"""Policy text to meaning: no NumPy, no Kubernetes, no I/O beyond the grammar that ships.

The passes, each importing only what stands before it:

    source       SourceText, Span
    diagnostics  Diagnostic, and its catalogue of codes
    syntax       the frozen AST, as written
    parser       text -> syntax.PolicyFile, every syntax error at once
    checked      the meaning: names resolved, params and lets substituted, units gone
    checker      syntax.PolicyFile -> checked.CheckedProgram, every error at once
    formatter    syntax.PolicyFile -> canonical text

docs/language.md is the specification of what they accept and mean.
"""
