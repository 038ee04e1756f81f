"""From text to syntax tree: lexemes, grammar, tree building, language versions."""
