"""The rules, one module each, named after their code and what they find."""
