"""Rules that look further than `check`: what a policy surely or probably was not meant to say.

One rule is one module of `rules`, with a page in docs/lint/. Nothing here reads files.
"""
