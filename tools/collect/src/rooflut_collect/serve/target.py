"""The server that is measured: its URLs, and what of them and of the key may be shown."""

import base64
import os
from urllib.parse import parse_qsl, unquote, urlsplit

from ..errors import UserError

_HIDDEN = "***"
#: Values of a query that are as short as `1` or `v2` are not secret, and occur in any text.
_SHORTEST_SECRET = 4


class Target:
    """An OpenAI-compatible server."""

    def __init__(self, url: str, key: str | None = None):
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            parts, host, port = None, None, None
        if parts is None or parts.scheme not in ("http", "https") or not host:
            # Not shown: what is no URL may be anything, a key as well.
            raise UserError("--url: expected http://HOST:PORT or https://HOST, found no such URL; correct it")
        name = f"[{host}]" if ":" in host else host
        path = parts.path.rstrip("/").removesuffix("/completions").removesuffix("/chat").removesuffix("/v1")
        self._base = f"{parts.scheme}://{name}{f':{port}' if port else ''}{path}"
        self._query = f"?{parts.query}" if parts.query else ""
        self.headers = {}
        self._secrets = {key} if key else set()
        if parts.username is not None:
            if key:
                raise UserError("--url: found a user beside --api-key-env; a request takes one: remove one")
            user, password = unquote(parts.username), unquote(parts.password or "")
            word = base64.b64encode(f"{user}:{password}".encode()).decode()
            self.headers["Authorization"] = f"Basic {word}"
            self._secrets |= {word, password, parts.password, user, parts.username}
        if key:
            self.headers["Authorization"] = f"Bearer {key}"
        if parts.query:
            values = [value for _, value in parse_qsl(parts.query)]
            values += [each.partition("=")[2] for each in parts.query.split("&")]
            self._secrets |= {parts.query, *(value for value in values if len(value) >= _SHORTEST_SECRET)}

    def at(self, path: str) -> str:
        """The URL that is asked, without a user."""
        return self._base + path + self._query

    def shown(self, path: str = "") -> str:
        """The URL as it may be written: without user and query."""
        return self._base + path

    def hide(self, text: str) -> str:
        """A text from elsewhere without key, user, password and query."""
        for secret in sorted((each for each in self._secrets if each), key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return text


def key_of_environment(name: str | None) -> str | None:
    """The key in the variable of this name. The name is not shown: it may be the key, given by mistake."""
    if name is None:
        return None
    key = os.environ.get(name, "").strip()
    if not key:
        raise UserError(
            "--api-key-env: expected the name of an environment variable that holds the key, found none of "
            "that name, or an empty one; export it, and give its name, not the key"
        )
    if not key.isprintable() or not key.isascii():
        raise UserError("--api-key-env: expected printable ASCII, found other characters; correct it")
    return key
