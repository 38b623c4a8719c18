"""A server on grpclib whose messages are bytes. Argument: path of its unix socket.

/test.Echo/One answers with its request, /test.Echo/Many with each of its requests,
/test.Echo/Wait never, and /test.Echo/Cancelled with how many calls of Wait were cancelled.
"""

import asyncio
import sys

from grpclib.const import Cardinality, Handler, Status
from grpclib.encoding.base import CodecBase
from grpclib.exceptions import GRPCError
from grpclib.server import Server


class Bytes(CodecBase):
    __content_subtype__ = "proto"

    def encode(self, message, message_type):
        return message

    def decode(self, data, message_type):
        return data


class Echo:
    def __init__(self):
        self.cancelled = 0

    async def one(self, stream):
        message = await stream.recv_message()
        if message == b"fail":
            raise GRPCError(Status.DATA_LOSS, "dérangé: 100 %")
        await stream.send_message(message)

    async def many(self, stream):
        async for message in stream:
            await stream.send_message(message)

    async def wait(self, stream):
        await stream.recv_message()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def tell(self, stream):
        await stream.recv_message()
        await stream.send_message(str(self.cancelled).encode())

    def __mapping__(self):
        unary, both = Cardinality.UNARY_UNARY, Cardinality.STREAM_STREAM
        methods = [
            ("One", self.one, unary),
            ("Many", self.many, both),
            ("Wait", self.wait, unary),
            ("Cancelled", self.tell, unary),
        ]
        return {f"/test.Echo/{name}": Handler(f, kind, None, None) for name, f, kind in methods}


async def main():
    server = Server([Echo()], codec=Bytes())
    await server.start(path=sys.argv[1])
    print("serving", flush=True)
    await server.wait_closed()


asyncio.run(main())
