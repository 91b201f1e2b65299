"""Which options of the choices the answers of a service show."""
