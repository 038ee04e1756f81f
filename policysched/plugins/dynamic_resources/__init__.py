"""DynamicResources: allocate devices to the claims of a pod."""
