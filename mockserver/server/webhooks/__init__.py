"""Sending of webhook deliveries: requests, signatures, and the dispatcher."""
