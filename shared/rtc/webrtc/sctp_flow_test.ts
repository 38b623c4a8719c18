import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { waitFor } from "../../base/time/wait_for.ts";
import { guardAssociation } from "./sctp_guard.ts";
import { makeAssociation } from "./sctp_link.ts";
import { DataChunk, makeSack, readPacket } from "./sctp_packet.ts";
import type { Association } from "./werift_internals.ts";

const WINDOW = 1024 * 1024;
const OPTIONS = {
  isClient: true,
  sameHost: false,
  roundTripS: 0.1,
  remotePort: 5000,
  remoteMaxMessageBytes: 65_536,
};

type Own = { -readonly [Key in keyof Association]: Association[Key] } & { ssthresh: number };

/** An open association without a peer, that has `chunks` full chunks to send. */
async function withFlow(
  chunks: number,
  work: (made: {
    association: Own;
    flow: ReturnType<typeof guardAssociation>["flow"];
    /** Their numbers, of all that were sent, from 0. */
    sent: () => number[];
    ack: (below: number, window?: number, gaps?: [number, number][]) => Promise<void>;
    ended: () => string | undefined;
  }) => Promise<void>,
  prepare: (association: Own) => void = () => {},
): Promise<void> {
  const association = makeAssociation(OPTIONS, { send: () => {} }) as Own;
  prepare(association);
  const packets: Buffer[] = [];
  let ended: string | undefined;
  const { flow } = guardAssociation(association, {
    roundTripS: 0.1,
    isLarge: false,
    send: (packet) => packets.push(packet),
    left: () => {},
    end: (reason) => ended ??= reason,
  });
  const first = association.localTsn;
  association.state = "connected";
  association.ssthresh = WINDOW;
  flow.send(0, 53, Buffer.alloc(chunks * association.maxPayloadSize));
  try {
    await work({
      association,
      flow,
      sent: () =>
        packets.flatMap((packet) => readPacket(packet)?.chunks ?? [])
          .filter((chunk) => chunk instanceof DataChunk)
          .map(({ tsn }) => (tsn - first) >>> 0),
      ack: (below, window = WINDOW, gaps = []) =>
        association.receiveSackChunk(makeSack((first + below - 1) >>> 0, window, gaps, [])),
      ended: () => ended,
    });
  } finally {
    await association.stop();
  }
}

Deno.test("SctpFlow sends on after what was acknowledged out of order was sent again", async () => {
  await withFlow(4, async ({ association, flow, sent, ack }) => {
    flow.flush();
    assert.deepEqual(sent(), [0, 1, 2]);
    await ack(0, WINDOW, [[2, 3]]);
    association.timer3Expired();
    flow.flush();
    assert.deepEqual(sent(), [0, 1, 2, 0]);
    association.cwnd = 2 * association.maxPayloadSize;
    await ack(1, WINDOW, [[1, 2]]);
    flow.flush();
    await ack(3);
    flow.flush();
    assert.equal(sent().at(-1), 3);
  });
});

Deno.test("SctpFlow asks a peer without room whether it has some, with one chunk", async () => {
  await withFlow(6, async ({ flow, sent, ack }) => {
    flow.flush();
    await ack(3, 0);
    flow.flush();
    assert.deepEqual(sent(), [0, 1, 2, 3]);
    await ack(3, 0);
    flow.flush();
    assert.deepEqual(sent(), [0, 1, 2, 3], "one at a time");
    await ack(4);
    flow.flush();
    assert.equal(sent().at(-1), 5);
  });
});

Deno.test("SctpFlow sends as much for acknowledgements that come together as for each alone", async () => {
  await withFlow(40, async ({ association, flow, sent, ack }) => {
    association.cwnd = 40 * association.maxPayloadSize;
    flow.flush();
    assert.equal(sent().length, 4);
    for (let below = 1; below <= 4; below++) await ack(below);
    flow.flush();
    assert.equal(sent().length, 20);
  });
});

Deno.test("SctpFlow hands on what fails in a later turn, which would end the process", async () => {
  await withFlow(1, async ({ association, ended }) => {
    Object.defineProperty(association, "sentQueue", {
      get: () => {
        throw new Error("broken");
      },
    });
    await waitFor(() => ended() !== undefined, { what: "it ended", deadlineMs: 60_000 });
    assert.match(ended() ?? "", /SCTP failed: Error: broken/);
  });
});

Deno.test("an acknowledgement names each number once, however often the peer does", async () => {
  let seen: unknown;
  await withFlow(1, async ({ association }) => {
    const gaps: [number, number][] = [[1, 9], [1, 9], [30, 20], [5, 12], [11, 12]];
    await association.receiveSackChunk(makeSack(1, 1, gaps, []));
    assert.deepEqual(seen, [[1, 9], [11, 12]]);
  }, (association) => {
    association.receiveSackChunk = ({ gaps }) => {
      seen = gaps;
      return Promise.resolve();
    };
  });
});

Deno.test("numbers that come behind one that never comes are bounded", async () => {
  await withFlow(1, ({ association, ended }) => {
    association.lastReceivedTsn = 0;
    for (let tsn = 2; tsn < 100_000; tsn++) association.markReceived(tsn);
    assert.match(ended() ?? "", /more than it may have in flight/);
    assert.ok(association.sackMisOrdered.size < 40_000);
    return Promise.resolve();
  });
});
