"""The subcommands: each adds its arguments to a parser and runs."""
