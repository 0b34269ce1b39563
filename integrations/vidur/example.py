"""A run of Vidur's own with rooflut's step times."""

import rooflut_vidur
from vidur.config import SimulationConfig
from vidur.simulator import Simulator
from vidur.utils.random import set_seeds

# Model, GPU and parallelism are in Vidur's configuration; the keys describe the rest of the server.
rooflut_vidur.register(engine="vllm-0.15.1")
config = SimulationConfig.create_from_cli_args()
set_seeds(config.seed)
simulator = Simulator(config)
simulator.run()
print(f"simulated {simulator._time:.3f} s")
