"""Facts about pods that scheduling uses: shapes, requests, disks, owners, nominations."""
