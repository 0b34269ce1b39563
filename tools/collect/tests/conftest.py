"""Nothing of the environment steers the fakes by accident."""

import os

import pytest


@pytest.fixture(autouse=True)
def _no_fake_settings(monkeypatch):
    for name in [name for name in os.environ if name.startswith("FAKE_")]:
        monkeypatch.delenv(name)
