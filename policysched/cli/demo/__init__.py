"""The parts of `demo`: an embedded cluster, the story that happens on it, and two views."""
