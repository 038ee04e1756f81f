"""Write pods and volumes: bindings, status patches, evictions, claims."""
