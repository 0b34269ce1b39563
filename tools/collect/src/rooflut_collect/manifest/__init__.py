"""Manifests that run the shards of a plan on a cluster: a Kubernetes Job or a Slurm script."""
