"""`make proof`: the checks that are too long for `make test`, in named parts."""
