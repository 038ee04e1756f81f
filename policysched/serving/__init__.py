"""The HTTP server: connections, certificates, access control, health and debug pages."""
