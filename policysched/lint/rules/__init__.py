"""The lint rules, one module each, named after their code and their finding."""
