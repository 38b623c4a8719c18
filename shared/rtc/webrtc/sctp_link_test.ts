import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers";
import { waitFor } from "../../base/time/wait_for.ts";
import { PayloadProtocol, SctpChannel } from "./sctp_channel.ts";
import { makeAssociation, SctpLink, type SctpOptions, StreamId } from "./sctp_link.ts";
import type { Association } from "./werift_internals.ts";

const OPTIONS: SctpOptions = {
  isClient: true,
  sameHost: true,
  roundTripS: 0,
  remotePort: 5000,
  remoteMaxMessageBytes: 65_536,
};
const until = (what: string, condition: () => boolean) =>
  waitFor(condition, { what, deadlineMs: 60_000 });

/** A link of ours, with what it reported. */
class Ours {
  readonly data = new SctpChannel((reason) => this.ended ??= reason);
  readonly got: Buffer[] = [];
  readonly link: SctpLink;
  isOpen = false;
  ended: string | undefined;

  constructor(
    isClient: boolean,
    send: (packet: Buffer) => void,
    options: Partial<SctpOptions> = {},
  ) {
    this.data.onMessage = (bytes) => this.got.push(Buffer.from(bytes));
    const channels = new Map([[StreamId.data, this.data]]);
    this.link = new SctpLink(channels, { ...OPTIONS, ...options, isClient }, {
      send,
      open: () => this.isOpen = true,
      ended: (reason) => this.ended = reason,
    });
  }
}

/** Ours as the server of an association that does what it likes. */
async function withStranger(work: (ours: Ours, stranger: Association) => Promise<void>) {
  const ours: Ours = new Ours(false, (packet) => {
    setImmediate(() => void stranger.handleData(packet).catch(() => {}));
  });
  const stranger: Association = makeAssociation(OPTIONS, {
    send: (packet) => void setImmediate(() => ours.link.receive(Buffer.from(packet))),
  });
  try {
    await stranger.start(OPTIONS.remotePort);
    await until("it is open", () => ours.isOpen);
    await work(ours, stranger);
  } finally {
    await ours.link.close();
    await stranger.stop();
  }
}

/** Two of ours; `loses` says which packets are lost. */
function pair(
  loses: (number: number) => boolean,
  options: Partial<SctpOptions> = {},
): [Ours, Ours] {
  let number = 0;
  const ends: Ours[] = [];
  const to = (index: number) => (packet: Buffer) => {
    if (!loses(number++)) setImmediate(() => ends[index]?.link.receive(Buffer.from(packet)));
  };
  const [client, server] = [new Ours(true, to(1), options), new Ours(false, to(0), options)];
  ends.push(client, server);
  client.link.start();
  return [client, server];
}

async function closeAll(...ends: Ours[]): Promise<void> {
  for (const { link } of ends) await link.close();
}

Deno.test("SctpLink carries messages of all sizes in order, though packets are lost", async () => {
  // Of the first ones none: the beginning of an association waits a second for each.
  const [client, server] = pair((number) => number > 20 && number % 50 === 0);
  await until("both are open", () => client.isOpen && server.isOpen);
  const sizes = [1, 65_535, 1_363, 1_364, 1_365, 30_000, 0, 2, ...Array(50).fill(9_000)];
  const messages = sizes.map((size) => randomBytes(size));
  for (const message of messages) client.data.send(new Uint8Array(message));
  await until("all has come", () => server.got.length === messages.length);
  assert.deepEqual(server.got, messages);
  assert.equal(client.data.bufferedBytes, 0);
  await closeAll(client, server);
});

Deno.test("SctpChannel refuses what is longer than either side takes", async () => {
  const [client, server] = pair(() => false, { remoteMaxMessageBytes: 1_000 });
  await until("both are open", () => client.isOpen && server.isOpen);
  client.data.send(new Uint8Array(1_000));
  assert.throws(
    () => client.data.send(new Uint8Array(1_001)),
    /1001 bytes is too long.* takes 1000/,
  );
  await closeAll(client, server);
});

Deno.test("SctpLink ends when a message is longer than was announced", async () => {
  await withStranger(async (ours, stranger) => {
    void stranger.send(StreamId.data, PayloadProtocol.binary, Buffer.alloc(70_000));
    await until("it ended", () => ours.ended !== undefined);
    assert.match(ours.ended ?? "", /a message of 70000 bytes; 65536 are allowed/);
    assert.deepEqual(ours.got, []);
  });
});

Deno.test("SctpLink ignores other streams, requests for more of them, and unknown protocols", async () => {
  await withStranger(async (ours, stranger) => {
    for (let streamId = 2; streamId < 50; streamId++) {
      await stranger.send(streamId, PayloadProtocol.control, Buffer.from([3, 0, 0, 0]));
      await stranger.send(streamId, 99, Buffer.from("x"));
    }
    await stranger.send(StreamId.data, PayloadProtocol.control, Buffer.from([2]));
    await stranger.send(StreamId.data, 99, Buffer.from("as bytes"));
    await until("it has come", () => ours.got.length === 1);
    assert.deepEqual([ours.got[0]?.toString(), ours.ended], ["as bytes", undefined]);
  });
});

Deno.test("SctpLink ends, and not the process, at packets that are none", async () => {
  for (const packet of [Buffer.alloc(0), Buffer.alloc(11), randomBytes(40), Buffer.alloc(60_000)]) {
    await withStranger(async (ours, stranger) => {
      ours.link.receive(packet);
      await stranger.send(StreamId.data, PayloadProtocol.binary, Buffer.from("x"));
      await until("it ended or went on", () => ours.ended !== undefined || ours.got.length === 1);
    });
  }
});

Deno.test("SctpLink ends when the peer sends more unfinished messages than it may", async () => {
  await withStranger(async (ours, stranger) => {
    // Only ever first pieces: their end, which would let them go, is left out.
    const send = stranger as unknown as { outboundQueue: { flags: number }[]; peerRwnd: number };
    Object.defineProperty(send, "peerRwnd", { get: () => Infinity });
    const push = Array.prototype.push;
    send.outboundQueue.push = function (...chunks) {
      for (const chunk of chunks) chunk.flags &= ~1;
      return push.apply(this, chunks);
    };
    void stranger.send(StreamId.data, PayloadProtocol.binary, Buffer.alloc(2_000_000));
    await until("it ended", () => ours.ended !== undefined);
    assert.match(ours.ended ?? "", /sent more than it may have in flight/);
  });
});

Deno.test("SctpChannel ends what sends a lot to nobody", () => {
  let ended: string | undefined;
  const channel = new SctpChannel((reason) => ended = reason);
  for (let n = 0; n < 16; n++) channel.arrive(new Uint8Array(65_536));
  assert.equal(ended, undefined);
  channel.arrive(new Uint8Array(1));
  assert.match(ended ?? "", /more than 1048576 bytes came that nobody read/);
});

Deno.test("SctpLink sends short messages of one moment in one packet", async () => {
  let packets = 0;
  const [client, server] = pair(() => {
    packets++;
    return false;
  });
  await until("both are open", () => client.isOpen && server.isOpen);
  packets = 0;
  for (let n = 0; n < 12; n++) client.data.send(new Uint8Array(100).fill(n));
  await until("all has come", () => server.got.length === 12);
  assert.deepEqual(server.got.map((message) => message[0]), [...Array(12).keys()]);
  // 1,400 bytes hold eleven of them with their headers; the third is an acknowledgement.
  assert.ok(packets <= 3, `${packets} packets`);
  await closeAll(client, server);
});

Deno.test("SctpLink acknowledges with its next message, and soon where there is none", async () => {
  let packets = 0;
  const [client, server] = pair(() => {
    packets++;
    return false;
  });
  await until("both are open", () => client.isOpen && server.isOpen);
  server.data.onMessage = (bytes) => server.data.send(new Uint8Array(bytes));
  let answers = 0;
  const done = new Promise<void>((resolve) => {
    client.data.onMessage = () => {
      if (++answers === 200) resolve();
      else client.data.send(new Uint8Array(100));
    };
  });
  packets = 0;
  client.data.send(new Uint8Array(100));
  await done;
  // Alone it would be one for each message or two; a busy host adds a few that were late.
  assert.ok(packets < 500, `${packets} packets for 400 messages`);
  const sent = packets;
  await until("the last one is acknowledged, too", () => packets > sent);
  await closeAll(client, server);
});

Deno.test("SctpLink uses long packets where the peer takes them on the same host", async () => {
  const lengths: number[] = [];
  for (const options of [{ datagramBytes: 16_384 }, { datagramBytes: 16_384, sameHost: false }]) {
    let longest = 0;
    const ends: Ours[] = [];
    const to = (index: number) => (packet: Buffer) => {
      longest = Math.max(longest, packet.length);
      setImmediate(() => ends[index]?.link.receive(Buffer.from(packet)));
    };
    ends.push(new Ours(true, to(1), options), new Ours(false, to(0), options));
    const [client, server] = ends as [Ours, Ours];
    client.link.start();
    await until("both are open", () => client.isOpen && server.isOpen);
    const message = randomBytes(60_000);
    client.data.send(new Uint8Array(message));
    await until("it has come", () => server.got.length === 1);
    assert.deepEqual(server.got[0], message);
    lengths.push(longest);
    await closeAll(client, server);
  }
  assert.ok(lengths[0]! > 16_000 && lengths[0]! <= 16_384 - 40, `${lengths[0]}`);
  assert.ok(lengths[1]! < 1_300, `${lengths[1]}`);
});
