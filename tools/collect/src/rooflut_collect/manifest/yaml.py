"""Just enough YAML to write a manifest: mappings, lists, and scalars as JSON has them."""

import json


def dump(value, indent: int = 0) -> str:
    """The text of a mapping or list, one entry per line."""
    pad, lines = " " * indent, []
    if isinstance(value, dict):
        for key, item in value.items():
            lines.append(f"{pad}{key}:{_nested(item, indent)}")
    else:
        for item in value:
            if isinstance(item, dict) and item:
                text = dump(item, indent + 2)
                lines.append(f"{pad}- {text[indent + 2 :]}")
            else:
                lines.append(f"{pad}-{_nested(item, indent)}")
    return "\n".join(lines)


def _nested(item, indent: int) -> str:
    if isinstance(item, (dict, list)) and item:
        return "\n" + dump(item, indent + 2)
    return f" {json.dumps(item)}"
