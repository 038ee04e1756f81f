"""Parse texts to syntax trees: lexemes, grammar, tree building and language versions."""
