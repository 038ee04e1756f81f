"""The HTTP server, its certificates, who may see a page, health and debug pages."""
