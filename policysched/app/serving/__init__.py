"""The secure port: TLS, who may ask, health, and pages for who looks into the process."""
