"""HTTP/1.1 on sockets."""
