"""The control plane under `/_mock`."""
