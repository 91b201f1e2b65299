"""Recordings of real traffic: read them, judge what they show, mask what is private, write what follows from them."""
