/** Servers on loopback that the network check can ask. For tests. */
import { Buffer } from "node:buffer";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { decode, encode, type Packet, streamDecode, streamEncode } from "dns-packet";
import { freePort } from "../../../shared/test_tools/free_port.ts";
import type { HostPort } from "./targets.ts";

export interface TestServer extends AsyncDisposable {
  readonly address: HostPort;
}

const LOOPBACK = "127.0.0.1";
const COOKIE = Buffer.from([0x21, 0x12, 0xa4, 0x42]);

/** Answers every question with 192.0.2.7, or with NXDOMAIN. */
export async function dnsServer(known = true): Promise<TestServer> {
  const answer = (query: Packet) => {
    const name = query.questions?.[0]?.name ?? "";
    return {
      type: "response" as const,
      id: query.id ?? 0,
      flags: known ? 0 : 3,
      questions: query.questions ?? [],
      answers: known ? [{ type: "A" as const, name, data: "192.0.2.7" }] : [],
    };
  };
  const port = freePort();
  const udp = await boundSocket((message, reply) => reply(encode(answer(decode(message)))), port);
  const tcp = createServer((socket) => {
    socket.on("error", () => {}); // The client closed the connection.
    socket.on("data", (data: Buffer) => socket.end(streamEncode(answer(streamDecode(data)))));
  });
  tcp.listen(port, LOOPBACK);
  await once(tcp, "listening");
  return server(port, () => {
    udp.close();
    tcp.close();
  });
}

/** Sees every caller under `seen`. */
export async function stunUdpServer(seen: HostPort): Promise<TestServer> {
  const udp = await boundSocket((message, reply) => reply(stunAnswer(message, seen)));
  return server(udp.address().port, () => udp.close());
}

export async function stunTcpServer(seen: HostPort): Promise<TestServer> {
  const tcp = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (data: Buffer) => {
      const answer = stunAnswer(data, seen);
      // In two pieces, as a network may deliver it.
      socket.write(answer.subarray(0, 7));
      setImmediate(() => socket.end(answer.subarray(7)));
    });
  });
  tcp.listen(0, LOOPBACK);
  await once(tcp, "listening");
  return server((tcp.address() as AddressInfo).port, () => tcp.close());
}

/** Takes everything and says nothing. */
export async function silentServer(): Promise<TestServer> {
  const port = freePort();
  const udp = await boundSocket(() => {}, port);
  const tcp = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("end", () => socket.end());
    socket.resume();
  });
  tcp.listen(port, LOOPBACK);
  await once(tcp, "listening");
  return server(port, () => {
    udp.close();
    tcp.close();
  });
}

/** The success to a binding request, with the address masked as the protocol wants it. */
function stunAnswer(request: Buffer, { host, port }: HostPort): Buffer {
  const answer = Buffer.alloc(32);
  answer.writeUInt16BE(0x0101, 0);
  answer.writeUInt16BE(12, 2);
  request.copy(answer, 4, 4, 20);
  answer.writeUInt16BE(0x0020, 20);
  answer.writeUInt16BE(8, 22);
  answer[25] = 1;
  answer.writeUInt16BE(port ^ 0x2112, 26);
  host.split(".").forEach((byte, i) => answer[28 + i] = Number(byte) ^ COOKIE[i]!);
  return answer;
}

async function boundSocket(
  onMessage: (message: Buffer, reply: (answer: Buffer) => void) => void,
  port = 0,
): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.on(
    "message",
    (message, from) => onMessage(message, (answer) => socket.send(answer, from.port, from.address)),
  );
  socket.bind(port, LOOPBACK);
  await once(socket, "listening");
  return socket;
}

function server(port: number, close: () => void): TestServer {
  return {
    address: { host: LOOPBACK, port },
    [Symbol.asyncDispose]: () => {
      close();
      return Promise.resolve();
    },
  };
}
