import assert from "node:assert/strict";
import { createClient } from "@connectrpc/connect";
import { EchoService } from "../../shared/gen/proto/rpc/examples/echo/v1/echo_pb.ts";
import { createInProcessTransport } from "../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../shared/rpc/server/router.ts";
import { serveEcho } from "./echo_service.ts";

Deno.test("serveEcho() gives back what it gets, at once or letter by letter", async () => {
  const router = new RpcRouter();
  serveEcho(router);
  const client = createClient(EchoService, createInProcessTransport(router));
  const texts = async (answers: AsyncIterable<{ message: string }>) =>
    (await Array.fromAsync(answers)).map(({ message }) => message);

  assert.equal((await client.echo({ message: "hé😀" })).message, "hé😀");
  assert.deepEqual(await texts(client.echoMultiple({ message: "hé😀" })), ["h", "é", "😀"]);
  async function* requests() {
    yield { message: "ab" };
    yield { message: "" };
    yield { message: "c" };
  }
  assert.deepEqual(await texts(client.echoBiDi(requests())), ["a", "b", "c"]);
});
