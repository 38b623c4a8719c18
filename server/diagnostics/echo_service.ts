/** `proto.rpc.examples.echo.v1.EchoService`, for those who try out connections to a machine. */
import type { ServiceImpl } from "@connectrpc/connect";
import { EchoService } from "../../shared/gen/proto/rpc/examples/echo/v1/echo_pb.ts";
import type { RpcRouter } from "../../shared/rpc/server/router.ts";

/** Serves it from now on. */
export function serveEcho(router: RpcRouter): void {
  router.service(EchoService, echoService);
}

/** Letters of one message that are sent back one by one; the rest of it is not. */
const MOST_LETTERS = 10_000;

const echoService: ServiceImpl<typeof EchoService> = {
  echo: ({ message }) => ({ message }),

  async *echoMultiple({ message }) {
    yield* lettersOf(message);
  },

  async *echoBiDi(requests) {
    for await (const { message } of requests) yield* lettersOf(message);
  },
};

function* lettersOf(text: string): Generator<{ message: string }> {
  let count = 0;
  for (const message of text) {
    if (++count > MOST_LETTERS) return;
    yield { message };
  }
}
