"""What the tours of fake resources are made of."""

import asyncio

from tour import error_of


async def first(stream, count):
    found = []
    async for each in stream:
        found.append(each)
        if len(found) == count:
            break
    return found


async def until(what, probe):
    for _ in range(100):
        found = await probe()
        if found:
            return found
        await asyncio.sleep(0.05)
    raise TimeoutError(what)
