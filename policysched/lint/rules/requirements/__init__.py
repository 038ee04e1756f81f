"""Rules about requirements and rules that contradict, repeat or rule out each other."""
