/** How the network check reaches the network. */
import { Buffer } from "node:buffer";
import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { connect } from "node:net";
import { once } from "node:events";
import type { HostPort } from "./targets.ts";

/** A UDP socket for several conversations. */
export interface UdpSocket {
  /** Notified of each message and who sent it. */
  onMessage: (message: Uint8Array, from: HostPort) => void;
  /** @throws when the message cannot leave. */
  send(message: Uint8Array, to: HostPort): Promise<void>;
  close(): void;
}

/** Counted probes to one host. */
export interface PingResult {
  readonly sent: number;
  readonly received: number;
}

/** The network as the check sees it. Everything ends when its signal aborts. */
export interface NetworkProbe {
  /** IP addresses of a name, by the host's resolver. */
  resolve(host: string): Promise<string[]>;
  /** Opens a TCP connection and closes it. */
  reach(to: HostPort, signal: AbortSignal): Promise<void>;
  /** The status of a GET request. */
  get(url: string, signal: AbortSignal): Promise<number>;
  /** Sends one message over TCP and reads until `isWhole` says so. */
  tcp(
    to: HostPort,
    message: Uint8Array,
    isWhole: (answer: Uint8Array) => boolean,
    signal: AbortSignal,
  ): Promise<Uint8Array>;
  openUdp(): Promise<UdpSocket>;
  /** Echo requests by the host's ping program; undefined when it has none that works. */
  ping(host: string, count: number, signal: AbortSignal): Promise<PingResult | undefined>;
  /** Address of the default gateway; undefined when there is none or it cannot be determined. */
  gateway(): Promise<string | undefined>;
}

export const realProbe: NetworkProbe = {
  async resolve(host) {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  },
  async reach(to, signal) {
    (await dial(to, signal)).destroy();
  },
  async get(url, signal) {
    const response = await fetch(url, { redirect: "manual", signal });
    await response.body?.cancel();
    return response.status;
  },
  async tcp(to, message, isWhole, signal) {
    const socket = await dial(to, signal);
    const onAbort = () => socket.destroy(new Error("no answer in time"));
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      socket.write(message);
      let answer: Uint8Array = new Uint8Array();
      for await (const chunk of socket) {
        answer = Buffer.concat([answer, chunk]);
        if (isWhole(answer)) return answer;
      }
      throw new Error("the server closed the connection without an answer");
    } finally {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
    }
  },
  async openUdp() {
    const socket = createSocket("udp4");
    socket.bind(0);
    await once(socket, "listening");
    const udp: UdpSocket = {
      onMessage: () => {},
      send: (message, { host, port }) =>
        new Promise((resolve, reject) =>
          socket.send(message, port, host, (error) => error ? reject(error) : resolve())
        ),
      close: () => socket.close(),
    };
    socket.on(
      "message",
      (message, { address, port }) => udp.onMessage(message, { host: address, port }),
    );
    // A refusal that comes back later belongs to no single question; that one runs out of time.
    socket.on("error", () => {});
    return udp;
  },
  ping: pingByProgram,
  gateway: linuxGateway,
};

async function dial({ host, port }: HostPort, signal: AbortSignal) {
  const socket = connect({ host, port });
  const onAbort = () => socket.destroy(new Error("no connection in time"));
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await once(socket, "connect");
    return socket;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

const WINDOWS = Deno.build.os === "windows";

async function pingByProgram(
  host: string,
  count: number,
  signal: AbortSignal,
): Promise<PingResult | undefined> {
  const args = WINDOWS
    ? ["-n", String(count), "-w", "1000", host]
    : ["-n", "-q", "-c", String(count), "-i", "0.2", "-w", "5", host];
  try {
    const { stdout } = await new Deno.Command("ping", {
      args,
      signal,
      env: { LC_ALL: "C" },
      stdin: "null",
      stderr: "null",
    }).output();
    return parsePing(new TextDecoder().decode(stdout));
  } catch {
    return undefined; // There is no such program, or it may not be run.
  }
}

/** The counts in what a ping program says in English; undefined when they are not there. */
export function parsePing(text: string): PingResult | undefined {
  const [, sent, received] = /(\d+) packets transmitted, (\d+)(?: packets)? received/.exec(text) ??
    /Sent = (\d+), Received = (\d+)/.exec(text) ?? [];
  return sent === undefined ? undefined : { sent: Number(sent), received: Number(received) };
}

async function linuxGateway(): Promise<string | undefined> {
  try {
    return parseRoutes(await Deno.readTextFile("/proc/net/route"));
  } catch {
    return undefined; // Not Linux.
  }
}

/** The gateway of the default route in /proc/net/route, with the lowest metric. */
export function parseRoutes(text: string): string | undefined {
  const routes = text.split("\n").slice(1).map((line) => line.split(/\s+/))
    .filter(([, destination, gateway]) => destination === "00000000" && gateway !== "00000000")
    .sort((a, b) => Number(a[6]) - Number(b[6]));
  const gateway = routes[0]?.[2];
  // The kernel prints the four bytes as one little-endian number.
  return gateway?.match(/../g)?.reverse().map((byte) => parseInt(byte, 16)).join(".");
}
