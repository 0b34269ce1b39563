"""Measures GPU kernels and writes table sets for rooflut."""

__version__ = "0.1.0"
