"""Runs a benchmark client of a package that is installed without its dependencies: alone.py EMPTY MODULE ARGUMENTS.

EMPTY names modules, divided by commas, that are empty here with all below them: libraries for GPUs, and parts of the
package that run models. A name that ends in `/` is a package whose `__init__` alone is skipped.
"""

import argparse
import importlib
import importlib.machinery
import sys
import types
from pathlib import Path


class AnyClass(type):
    """The type of a class that has any attribute and returns itself when called."""

    def __getattr__(cls, name: str):
        return attribute(name)

    def __call__(cls, *_args, **_options):
        return cls


def attribute(name: str) -> AnyClass:
    if name.startswith("__"):
        raise AttributeError(name)
    return AnyClass(name, (), {})


class EmptyModule(types.ModuleType):
    def __getattr__(self, name: str):
        return attribute(name)


class Finder:
    """Finds the empty modules, and the packages without their `__init__`."""

    def __init__(self, names: list[str]) -> None:
        self.empty = [name for name in names if not name.endswith("/")]
        self.packages = [name[:-1] for name in names if name.endswith("/")]

    def find_spec(self, name: str, path=None, _target=None):
        if any(f"{name}.".startswith(f"{empty}.") for empty in self.empty):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        if name not in self.packages:
            return None
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        folders = [Path(folder) / name.split(".")[-1] for folder in path or sys.path]
        spec.submodule_search_locations = [str(folder) for folder in folders if folder.is_dir()]
        return spec

    def create_module(self, spec):
        return EmptyModule(spec.name)

    def exec_module(self, module) -> None:
        pass


names, name = sys.argv[1:3]
sys.meta_path.insert(0, Finder(names.split(",")))
sys.argv = [name, *sys.argv[3:]]
client = importlib.import_module(name)
if hasattr(client, "cli_main"):
    client.cli_main()
else:
    parser = argparse.ArgumentParser()
    client.add_cli_args(parser)
    client.main(parser.parse_args())
