import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers";
import { waitFor } from "../../base/time/wait_for.ts";
import { randomSource } from "../../test_tools/random_source.ts";
import { DtlsSession } from "./dtls_session.ts";
import { createCertificate, type OwnCertificate } from "./own_certificate.ts";

/** One end, with what it reported. */
interface End {
  session: DtlsSession;
  isOpen: boolean;
  ended: string | undefined;
  got: Buffer[];
}

/** How often a datagram arrives: 0 loses it. */
type Copies = (datagram: Buffer, number: number) => number;

/** Two ends, wired to one another. */
function connect(
  { client, server, toClient = server, toServer = client, copies = () => 1 }: {
    client: OwnCertificate;
    server: OwnCertificate;
    /** Whose fingerprints they received. */
    toClient?: OwnCertificate;
    toServer?: OwnCertificate;
    copies?: Copies;
  },
): { client: End; server: End; close(): Promise<void> } {
  const ends: End[] = [];
  let number = 0;
  const make = (index: number, certificate: OwnCertificate, other: OwnCertificate) => {
    const end = { isOpen: false, ended: undefined, got: [] } as unknown as End;
    ends[index] = end;
    end.session = new DtlsSession({
      isClient: index === 0,
      certificate,
      fingerprints: [other.fingerprint],
      events: {
        send: (datagram) => {
          const copy = Buffer.from(datagram);
          for (let n = copies(copy, number++); n > 0; n--) {
            setImmediate(() => ends[1 - index]?.session.receive(copy));
          }
        },
        open: () => end.isOpen = true,
        data: (data) => end.got.push(data),
        ended: (reason) => end.ended = reason,
      },
    });
    return end;
  };
  const serverEnd = make(1, server, toServer);
  const clientEnd = make(0, client, toClient);
  const close = async () => {
    await Promise.all(ends.map(({ session }) => session.close()));
  };
  return { client: clientEnd, server: serverEnd, close };
}

const one = createCertificate();
const two = createCertificate();
const until = (what: string, condition: () => boolean) =>
  waitFor(condition, { what, deadlineMs: 60_000 });

Deno.test("DtlsSession opens both ends, carries data, and tells the other end when it is closed", async () => {
  const { client, server, close } = connect({ client: one, server: two });
  await until("both are open", () => client.isOpen && server.isOpen);
  const messages = Array.from({ length: 50 }, () => randomBytes(200));
  for (const message of messages) client.session.send(message);
  server.session.send(Buffer.from("back"));
  await until("all has come", () => server.got.length === 50);
  assert.deepEqual(server.got, messages);
  assert.deepEqual(client.got, [Buffer.from("back")]);
  await client.session.close();
  await until("the server knows", () => server.ended !== undefined);
  assert.equal(server.ended, "closed by the peer");
  await close();
});

Deno.test("DtlsSession opens when each datagram comes twice", async () => {
  const { client, server, close } = connect({ client: one, server: two, copies: () => 2 });
  await until("both are open", () => client.isOpen && server.isOpen);
  await close();
});

Deno.test("DtlsSession opens when a datagram of the handshake is lost, whichever", async () => {
  for (const lost of [0, 1, 2, 4, 7, 10]) {
    const copies: Copies = (_, number) => number === lost ? 0 : 1;
    const { client, server, close } = connect({ client: one, server: two, copies });
    await until(`open without datagram ${lost}`, () => client.isOpen && server.isOpen);
    await close();
  }
});

Deno.test("DtlsSession numbers no two records alike", async () => {
  const numbers = new Set<string>();
  let sent = 0;
  const { client, server, close } = connect({
    client: one,
    server: two,
    copies: (datagram) => {
      // Content type 23 is data, 22 with keys the last message of the handshake.
      if (datagram.readUInt16BE(3) === 1) {
        sent++;
        numbers.add(`${datagram.subarray(3, 11).toString("hex")}`);
      }
      return 1;
    },
  });
  await until("both are open", () => client.isOpen && server.isOpen);
  sent = 0;
  const before = numbers.size;
  for (let n = 0; n < 40; n++) client.session.send(Buffer.from("x"));
  await until("all has come", () => server.got.length === 40);
  assert.equal(numbers.size - before, sent);
  await close();
});

Deno.test("DtlsSession refuses another certificate than the one that was told of", async () => {
  const wrong = { client: one, server: two };
  for (const told of [{ toClient: one }, { toServer: two }]) {
    const { client, server, close } = connect({ ...wrong, ...told });
    await until("one refuses", () => [client, server].some(({ ended }) => ended !== undefined));
    const refusing = [client, server].find(({ ended }) => ended?.includes("fingerprint"));
    assert.ok(refusing, `${client.ended}, ${server.ended}`);
    assert.equal(refusing.isOpen, false);
    await close();
  }
});

Deno.test("DtlsSession refuses who shows a certificate without having its key", async () => {
  const thief: OwnCertificate = { ...one, key: two.key };
  for (const ends of [{ client: thief, server: two }, { client: two, server: thief }]) {
    const { client, server, close } = connect(ends);
    const honest = ends.client === thief ? server : client;
    await until("it is refused", () => honest.ended !== undefined);
    assert.equal(honest.ended, "the peer does not prove that it has its certificate's key");
    assert.equal(honest.isOpen, false);
    await close();
  }
});

Deno.test("DtlsSession is not ended by what anybody can send", async () => {
  const { client, server, close } = connect({ client: one, server: two });
  await until("both are open", () => client.isOpen && server.isOpen);
  const record = (type: number, epoch: number, body: Buffer) => {
    const header = Buffer.from([type, 254, 253, 0, epoch, 0, 0, 0, 0, 0, 9, 0, body.length]);
    return Buffer.concat([header, body]);
  };
  const alert = Buffer.from([2, 0]);
  const random = randomSource(1);
  const forged = [
    record(21, 0, alert),
    record(21, 1, Buffer.concat([alert, random.bytes(30)])),
    record(99, 0, alert),
    record(22, 0, Buffer.from(random.bytes(60))),
    Buffer.concat([record(23, 1, Buffer.from(random.bytes(40))), record(21, 0, alert)]),
    ...Array.from({ length: 500 }, () => Buffer.from(random.bytes(1 + random.below(100)))),
  ];
  for (const datagram of forged) {
    for (const { session } of [client, server]) session.receive(datagram);
  }
  client.session.send(Buffer.from("still there"));
  await until("data comes", () => server.got.length === 1);
  assert.deepEqual([client.ended, server.ended], [undefined, undefined]);
  await close();
});
