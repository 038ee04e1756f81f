"""What `explain pod` works out: changes that would make another node win, or a pod fit."""
