"""What a cluster needs to run the shards of a plan: a Kubernetes Job or a Slurm script."""
