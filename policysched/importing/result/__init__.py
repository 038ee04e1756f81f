"""The result of an import: policies, profiles, configuration, findings."""
