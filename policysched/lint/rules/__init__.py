"""The lint rules, one module each, named after their code and their finding.

The first digit of a code tells the folder.
"""
