"""Volumes, claims, classes and CSI objects: the store, assumed volumes, attachments."""
