"""Language server: answers requests of editors; only `server` uses the protocol (LSP) itself."""
