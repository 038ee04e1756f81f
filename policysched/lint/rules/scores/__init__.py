"""Rules about scores, their weights and conditions."""
