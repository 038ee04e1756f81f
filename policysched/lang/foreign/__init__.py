"""Words, fields and idioms of other languages, with their equivalents here."""
