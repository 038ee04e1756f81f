"""`make proof`: what takes too long for `make test`, in named parts."""
