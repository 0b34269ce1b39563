"""Loads on a running server: `rooflut-collect serve`."""
