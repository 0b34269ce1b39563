"""Compares the flags of `vllm serve` that rooflut knows with those of vLLM's own `arg_utils.py` and `cli_args.py`.

    python flags.py --vllm FOLDER [FOLDER ...]

rooflut's are those of `crates/scenario/src/vllm/flags.csv`. vLLM's are read from the calls of `add_argument`; whether a flag
takes a value is read as vLLM does, from the type of its field. Prints a line for each version; the exit status is 1 if
anything differs.
"""

import argparse
import ast
import csv
import pathlib
import sys
from functools import cache

from defaults import Source

FLAGS = pathlib.Path(__file__).resolve().parents[2] / "crates" / "scenario" / "src" / "vllm" / "flags.csv"

#: Where the flags are added, and the functions that do so.
FILES = ("engine/arg_utils.py", "entrypoints/openai/cli_args.py", "entrypoints/common/cli_args.py")
FUNCTIONS = ("add_cli_args", "make_arg_parser")

#: Types of several values.
LISTS = ("list", "List", "tuple", "Tuple", "set")


class Flags:
    """The flags of one version: names with their short names and form."""

    def __init__(self, source):
        self.source = source
        self.found = {}
        # The fields of each variable of `get_kwargs`, with the form of each.
        self.kwargs = {}
        for file in FILES:
            for function in source.functions(file):
                if function.name in FUNCTIONS:
                    self.read(file, function)

    @cache
    def classes(self):
        """All classes of the configuration and of the files with flags."""
        root = self.source.root / "vllm"
        files = [*sorted((root / "config").rglob("*.py")), *(root / file for file in FILES)]
        trees = (self.source.tree(str(file.relative_to(root))) for file in files)
        return {node.name: node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    def read(self, file, function):
        """Reads the statements of a function in their order."""
        nodes = (node for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.Call, ast.For)))
        for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.assign(file, name, value)
                case ast.Call(func=ast.Attribute(attr="add_argument")):
                    self.add(node)
                case ast.For(iter=ast.Call(func=ast.Attribute(value=ast.Name(id="frontend_kwargs")))):
                    self.frontend(file)

    def assign(self, file, name, value):
        """Reads `name = get_kwargs(Class)`, perhaps of one field."""
        match value:
            case ast.Call(func=ast.Name(id="get_kwargs"), args=[ast.Name(id=config)]) if config != "cls":
                self.kwargs[name] = self.forms(config)
            case ast.Subscript(value=ast.Call(func=ast.Name(id="get_kwargs"), args=[ast.Name(id=config)]), slice=key):
                self.kwargs[name] = self.forms(config)[ast.literal_eval(key)]
            case ast.Subscript(value=ast.Name(id=of), slice=ast.Constant(value=key)) if of in self.kwargs:
                self.kwargs[name] = self.kwargs[of][key]

    def add(self, call):
        """Reads a call of `add_argument`."""
        names = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
        names = [name for name in names if name.startswith("-")]
        if not names:
            return
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        if None in given:
            form = self.of(given[None])
        else:
            form = explicit(given)
        for long in (name for name in names if name.startswith("--")):
            self.found[long[2:]] = ([name for name in names if not name.startswith("--")], form)

    def of(self, node):
        """The form of `**kwargs["field"]`, of `**kwargs`, or of a dictionary that extends one."""
        match node:
            case ast.Dict(keys=[None, *_], values=[first, *_]):
                return self.of(first)
            case ast.Subscript(value=ast.Name(id=of), slice=ast.Constant(value=key)):
                return self.kwargs[of][key]
            case ast.Name(id=name):
                return self.kwargs[name]
        raise LookupError(ast.unparse(node))

    def frontend(self, file):
        """Adds a flag for each field of the frontend."""
        forms = self.forms("FrontendArgs")
        for node in ast.walk(self.source.tree(file)):
            match node:
                # A list whose flag takes one value.
                case ast.Delete(targets=[ast.Subscript(value=ast.Subscript(slice=key), slice=ast.Constant("nargs"))]):
                    forms[ast.literal_eval(key)] = "value"
        for field, form in forms.items():
            self.found[field.replace("_", "-")] = ([], form)

    def forms(self, config):
        """The form of each field of a class, those of its bases first."""
        node = self.classes()[config]
        forms = {}
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in self.classes():
                forms |= self.forms(base.id)
        for field in node.body:
            if isinstance(field, ast.AnnAssign):
                forms[field.target.id] = form_of(field.annotation)
        return forms


def explicit(given):
    """The form of an argument whose action is given in its call."""
    action = ast.unparse(given["action"]) if "action" in given else ""
    if "BooleanOptionalAction" in action:
        return "switch"
    if "store_true" in action:
        return "on"
    nargs = ast.literal_eval(given["nargs"]) if "nargs" in given else None
    return {None: "value", "?": "optional", "+": "list"}[nargs]


def form_of(annotation):
    """The form of a flag whose field has this type, by the rules of `_compute_kwargs`."""
    types = list(flattened(annotation))
    names = [ast.unparse(node) for node in types]
    if "bool" in names:
        return "optional" if "str" in names else "switch"
    if any(name == "Literal" or name.startswith("Literal[") for name in names):
        return "value"
    of_lists = (ast.unparse(node.value) for node in types if isinstance(node, ast.Subscript))
    return "list" if any(name in LISTS for name in of_lists) else "value"


def flattened(node):
    """The types of a union."""
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from flattened(left)
            yield from flattened(right)
        case ast.Subscript(value=ast.Name(id="Optional" | "SkipValidation"), slice=inner):
            yield from flattened(inner)
        case ast.Subscript(value=ast.Name(id="Union"), slice=ast.Tuple(elts=inner)):
            for one in inner:
                yield from flattened(one)
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[inner, *_])):
            yield from flattened(inner)
        case ast.Constant(value=str(text)):
            yield from flattened(ast.parse(text, mode="eval").body)
        case _:
            yield node


def numbers(version):
    """A version as numbers."""
    return tuple(int(part) for part in version.split("."))


def rooflut_flags(version):
    """The flags of a version that rooflut knows: names with their short names and form."""
    asked, flags = numbers(version), {}
    with FLAGS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            first, last = (row[key] and numbers(row[key]) for key in ("first", "last"))
            if (not first or first <= asked) and (not last or asked <= last):
                flags[row["flag"]] = ({f"-{short}" for short in row["short"].split()}, row["form"])
    return flags


def differences(real, ours):
    """The differences, one line each."""
    for name in sorted(real.keys() - ours.keys()):
        yield f"--{name}: vLLM has it, rooflut does not"
    for name in sorted(ours.keys() - real.keys()):
        yield f"--{name}: rooflut has it, vLLM does not"
    for name in sorted(real.keys() & ours.keys()):
        (shorts, form), (known, known_form) = real[name], ours[name]
        if form != known_form:
            yield f"--{name}: vLLM's form is {form}, rooflut's {known_form}"
        # `-O` is not a flag of its own in later versions; the parser rewrites it.
        if missing := set(shorts) - known - {"-O"}:
            yield f"--{name}: rooflut lacks {', '.join(sorted(missing))}"


def main():
    """Compares all versions; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--vllm", required=True, nargs="+", help="folders of unpacked wheels")
    status = 0
    for folder in parser.parse_args().vllm:
        source = Source(folder)
        real = Flags(source).found
        found = list(differences(real, rooflut_flags(source.version)))
        for difference in found:
            print(f"vLLM {source.version}: {difference}")
        print(f"flags of vLLM {source.version}: {len(found)} of {len(real)} differ")
        status |= bool(found)
    return status


if __name__ == "__main__":
    sys.exit(main())
