"""What scheduling knows about pods: shapes, requests, disks, owners, nominations."""
