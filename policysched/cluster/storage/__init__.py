"""Store volumes, claims, classes and CSI objects, assumed volumes and attachments."""
