"""Errors, grouped by how a run reacts to them."""


class UserError(Exception):
    """Something that the user can correct: says what was found, what was expected, what to do."""


class OutOfMemory(Exception):
    """A row does not fit into the device's memory."""


class NoKernel(Exception):
    """No installed library has a kernel for a row."""


class DeviceLost(Exception):
    """The device answers no more in this process; a new process may go on."""

    def __init__(self, message: str, by_row: bool = True):
        super().__init__(message)
        #: Whether measuring the row did it, rather than the self-check of a library.
        self.by_row = by_row


def comma(names) -> str:
    """`a, b, c`."""
    return ", ".join(str(name) for name in names)
