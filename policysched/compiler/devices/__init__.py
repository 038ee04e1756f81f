"""Numbers about devices: `freeDevices(gpu)`, `takenDevices(gpu)`, `deviceCapacity(memory)`."""
