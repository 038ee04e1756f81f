"""What end-to-end tests share: running schedulers, clusters and their troubles."""
