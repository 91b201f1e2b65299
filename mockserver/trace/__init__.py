"""What a client and a service have sent each other, read from a sandbox or from the files of a recorder."""
