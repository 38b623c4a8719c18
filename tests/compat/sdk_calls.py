"""Notes which calls of the published SDK's clients a tour made, and what the cloud refuses."""

import inspect

from grpclib import GRPCError


class Recorded:
    """A client of the SDK that keeps the names of the calls that came to their end."""

    def __init__(self, client):
        self._client = client
        self._made = set()

    def __getattr__(self, name):
        found = getattr(self._client, name)
        if name.startswith("_") or not inspect.iscoroutinefunction(found):
            return found

        async def call(*args, **kwargs):
            try:
                return await found(*args, **kwargs)
            finally:
                self._made.add(name)

        return call

    def uncalled(self, *others):
        """The public calls that neither this nor the others of the same kind made, by name."""
        of_kind = inspect.getmembers(type(self._client), inspect.iscoroutinefunction)
        made = self._made.union(*(other._made for other in others))
        return sorted(name for name, _ in of_kind if not name.startswith("_") and name not in made)

    def made(self):
        return sorted(self._made)


def equal(found, wanted):
    assert found == wanted, f"found {found!r}, wanted {wanted!r}"


async def refused(call, status, words):
    """The call ends with that status and a message that has those words."""
    try:
        answer = await call
    except GRPCError as error:
        message = f"{error.status.name}: {error.message}"
        assert error.status.name == status and words in error.message, message
    else:
        raise AssertionError(f"it was not refused: {answer!r}")
