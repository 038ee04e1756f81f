"""The language server, which answers requests of editors; only `server` handles LSP messages."""
