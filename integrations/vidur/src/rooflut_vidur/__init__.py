"""rooflut as the execution-time predictor of the simulator Vidur."""

from .predictor import RooflutPredictor, register

__all__ = ["RooflutPredictor", "register"]
