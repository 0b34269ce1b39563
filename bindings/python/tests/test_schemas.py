"""The commands write JSON as the schemas of docs/schemas say."""

import csv
import io
import json
import pathlib

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).parents[3]
SCHEMAS = ROOT / "docs/schemas"
SERVED = ["--requests", "40", "--rate", "4"]

COMMANDS = [
    ["run", *SERVED, "--interval", "0.9", "--seeds", "2", "--goodput", "ttft:500"],
    ["run", *SERVED, "--model", "qwen3-30b-a3b", "--replicas", "2", "--prefixes", "2x64", "--turns", "2", "--think-time", "1"],
    ["run", "--scenario", ROOT / "examples/two_servers.toml"],
    ["run", "--requests", "40", "--users", "4", "--draft-model", "ngram", "--draft-tokens", "2", "--acceptance", "0.5"],
    ["step", "--prefill", "512@1024", "--decode", "64x1000", "--interval", "0.9"],
    ["step", "--decode", "8x100", "--model", "mixtral-8x7b", "--tp", "2"],
    ["plan", *SERVED, "--goodput", "ttft:500@p50", "--gpu", "h100,l40s", "--tp", "1,2"],
    ["saturate", "--requests", "40", "--seeds", "1", "--goodput", "tpot:20@p50"],
    ["fits", "--model", "llama-3.1-70b"],
    ["compare", ROOT / "examples/scenario.toml", ROOT / "examples/two_servers.toml"],
    ["lookup", "gemm", "--k", "4096", "--n", "6144", "--m", "100"],
    ["lookup", "decode", "--q-heads", "32", "--kv-heads", "8", "--head-dim", "128", "--batch", "10", "--kv-len", "1000"],
    ["tables"],
    ["models"],
    ["engines"],
]


def extended(schema):
    """The definitions to whose keys other parts of the schema add some."""
    parts = schema if isinstance(schema, list) else schema.values() if isinstance(schema, dict) else []
    found = set().union(*map(extended, parts))
    if isinstance(schema, dict) and {"$ref", "properties"} <= schema.keys():
        found.add(schema["$ref"].rpartition("/")[2])
    return found


def closed(schema, open_names, name=None):
    """The schema without keys that it does not name."""
    if isinstance(schema, list):
        return [closed(part, open_names) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(part, open_names, key) for key, part in schema.items()}
    is_object = isinstance(schema.get("properties"), dict)
    if is_object and name not in open_names and "additionalProperties" not in schema:
        inner["unevaluatedProperties"] = False
    return inner


def schema(name):
    return json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: " ".join(map(str, arguments[:2])))
def test_a_report_is_as_its_schema_says(command, arguments):
    report = json.loads(command(*arguments, "--json"))
    of = schema(arguments[0])
    jsonschema.Draft202012Validator.check_schema(of)
    jsonschema.Draft202012Validator(closed(of, extended(of))).validate(report)
    assert next(iter(report)) == "schema_version"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(of).validate({**report, "schema_version": "1"})


def test_the_rows_of_a_sweep_are_as_their_schema_says(command):
    of = schema("sweep")
    grid = ["--tp", "1,3", *SERVED, "--seeds", "2", "--goodput", "ttft:500", "--interval", "0.9"]
    rows = list(csv.DictReader(io.StringIO(command("sweep", *grid))))
    assert [row["schema_version"] for row in rows] == ["1", "1"]
    assert set(rows[0]) == set(of["properties"])
    text = [name for name, column in of["properties"].items() if "string" in column["type"]]
    for row in rows:
        cells = {name: cell if name in text and cell else json.loads(cell or "null") for name, cell in row.items()}
        jsonschema.Draft202012Validator(of).validate(cells)
