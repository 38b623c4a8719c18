import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { classes, Message, parseMessage } from "werift";
import { waitFor } from "../../base/time/wait_for.ts";
import { allocateRelay, MOST_WAITING_BYTES, type Relay } from "./turn_relay.ts";
import type { StreamTransport } from "./werift_internals.ts";

const PEER = ["127.0.0.1", 9] as const;
const DATAGRAM = Buffer.alloc(8_000, 7);

/** A TURN server on TCP that grants everything, and then reads what it is sent, or nothing more. */
function turnServer({ isStalled }: { isStalled: boolean }) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let received = 0;
  let connection: Deno.Conn | undefined;
  const serving = (async () => {
    connection = await listener.accept();
    const bytes = new Uint8Array(64 * 1024);
    for (let read; (read = await connection.read(bytes)) !== null;) {
      const request = received === 0 ? parseMessage(Buffer.from(bytes.subarray(0, read))) : null;
      if (request) await connection.write(granted(request));
      else if (isStalled) return;
      else received += read;
    }
  })().catch(() => {});
  return {
    port: listener.addr.port,
    received: () => received,
    async close() {
      connection?.close();
      listener.close();
      await serving;
    },
  };
}

function granted({ messageMethod, transactionId }: Message): Uint8Array {
  const answer = new Message(messageMethod, classes.RESPONSE, transactionId);
  answer.setAttribute("XOR-RELAYED-ADDRESS", ["127.0.0.1", 5_000])
    .setAttribute("XOR-MAPPED-ADDRESS", ["127.0.0.1", 5_001])
    .setAttribute("LIFETIME", 600);
  return answer.bytes;
}

async function relayAt(port: number) {
  const address = ["127.0.0.1", port] as const;
  const server = { address, transport: "tcp", username: "u", credential: "c" } as const;
  const relay = await allocateRelay(server, new Set<Relay>(), () => false);
  const { turn } = relay.protocol as unknown as { turn: { transport: StreamTransport } };
  const send = () => relay.protocol.sendData(DATAGRAM, PEER);
  await send();
  return { relay, send, waiting: () => turn.transport.stream.client.writableLength };
}

Deno.test("a TURN server that stalls costs a bounded buffer, and video by another goes on", async () => {
  const servers = [turnServer({ isStalled: true }), turnServer({ isStalled: false })];
  const [stalled, other] = await Promise.all(servers.map(({ port }) => relayAt(port)));
  let most = 0;
  let sent = 1;
  for (; sent < 4_000; sent++) {
    void stalled!.send();
    // Without waiting for the one that stalls.
    await other!.send();
    most = Math.max(most, stalled!.waiting());
  }
  assert.ok(most <= MOST_WAITING_BYTES + 2 * DATAGRAM.length, `${most} bytes waited`);
  assert.ok(most >= MOST_WAITING_BYTES / 2, `it did not stall: ${most} bytes waited`);
  await waitFor(() => servers[1]!.received() >= sent * DATAGRAM.length, { deadlineMs: 60_000 });
  for (const { relay } of [stalled!, other!]) relay.close();
  await Promise.all(servers.map((server) => server.close()));
});
