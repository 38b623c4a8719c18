// A script for a native host that does what a test asks for, one line of JSON a connection, in place
// of the machine.
import { fromHex, hex } from "../../core/bytes/bytes.ts";
import { fromUtf8, utf8 } from "../../core/bytes/utf8.ts";
import type { Connection, Host } from "../../core/host/host.ts";
import { nativeHost } from "../native/host.ts";
import type { Dispatch, Native } from "../native/native.ts";

/** What a test asks for. */
export type Ask =
  | { op: "info" }
  | { op: "read"; key: string }
  | { op: "write"; key: string; size: number }
  | { op: "fill"; key: string; size: number; from: number }
  | { op: "get"; host: string; port: number; tls: boolean; serverName?: string }
  | { op: "download"; bytes: number }
  | { op: "check"; message: string; key: string; signature: string }
  | { op: "analog"; pin: string }
  | { op: "hold" | "circle"; bytes: number }
  | { op: "listen"; certificate: string; privateKey: string }
  | { op: "update"; port: number; size: number; activate: boolean }
  | { op: "confirm" | "drop" | "rollBack" | "restart" | "exhaust" | "reject" | "hang" };

type Reply = (value: unknown) => void;

/** Value number `count`: any mix of two numbers shows. */
function value(count: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size).fill(count & 255);
  new DataView(bytes.buffer).setUint32(0, count);
  return bytes;
}

function fill(host: Host, key: string, size: number, count: number): void {
  host.flash.write(key, value(count, size));
  host.setTimer(0, () => fill(host, key, size, count + 1));
}

function fetchText(host: Host, ask: Ask & { op: "get" }, reply: Reply): void {
  let text = "";
  const connection = host.connect(ask, {
    onOpen: () => void connection.write(utf8("GET / HTTP/1.0\r\n\r\n")),
    onData: (bytes) => void (text += fromUtf8(bytes)),
    onEnd: () => reply({ text }),
    onError: (error) => reply({ error }),
  });
}

function update(host: Host, { port, size, activate }: Ask & { op: "update" }, reply: Reply): void {
  const { firmware } = host;
  if (!firmware) return reply({ error: "there are no slots" });
  firmware.begin(size);
  let problem: string | undefined;
  host.connect({ host: "127.0.0.1", port, tls: false }, {
    onData(bytes) {
      try {
        firmware.write(bytes);
      } catch (error) {
        problem ??= String(error);
      }
    },
    onEnd() {
      const sha256 = hex(firmware.digest());
      try {
        firmware.finish(activate);
      } catch (error) {
        problem ??= String(error);
      }
      reply({ error: problem, sha256 });
    },
    onError: (error) => reply({ error }),
  });
}

/** Sends more than is kept at once, as the peer takes it. */
function download(connection: Connection, total: number): () => void {
  let left = total;
  return () => {
    while (left > 0) {
      const size = Math.min(left, 16_384);
      left -= size;
      if (!connection.write(new Uint8Array(size).fill(120))) return;
    }
    connection.end();
  };
}

function answer(host: Host, ask: Ask, reply: Reply, connection: Connection): (() => void) | void {
  switch (ask.op) {
    case "info":
      return reply({
        version: host.firmware?.version,
        confirmed: host.firmware?.confirmed,
        memory: host.memory(),
        address: host.localAddress(),
        random: host.random(600).length,
        clock: host.wallClock(),
        gpio: host.gpio !== undefined,
      });
    case "read": {
      const bytes = host.flash.read(ask.key);
      if (!bytes) return reply({ length: -1 });
      const count = bytes.length < 4 ? -1 : new DataView(bytes.buffer).getUint32(0);
      const whole = bytes.every((byte, i) => i < 4 || byte === (count & 255));
      return reply({ length: bytes.length, count, whole });
    }
    case "write":
      host.flash.write(ask.key, value(1, ask.size));
      return reply({});
    case "fill":
      reply({});
      return fill(host, ask.key, ask.size, ask.from);
    case "get":
      return fetchText(host, ask, reply);
    case "download": {
      const more = download(connection, ask.bytes);
      more();
      return more;
    }
    case "check": {
      const message = utf8(ask.message);
      const bytes = (text: string) => fromHex(text) ?? new Uint8Array(0);
      const valid = host.verifyEd25519(bytes(ask.key), message, bytes(ask.signature));
      return reply({ valid, sha256: [...host.sha256(message)] });
    }
    case "analog":
      return reply(host.adc?.read(ask.pin) ?? { error: "there are no analog inputs" });
    case "listen": {
      const port = host.listen({ port: 0, tls: ask }, (peer) => ({
        onData: (bytes) => void peer.write(bytes),
        onEnd: () => undefined,
        onError: (text) => host.log(text),
      })).port;
      return reply({ port });
    }
    case "update":
      return update(host, ask, reply);
    case "confirm":
      host.firmware?.confirm();
      return reply({});
    case "drop":
      host.firmware?.finish(false);
      return reply({});
    case "rollBack":
      host.firmware?.rollBack();
      return reply({});
    case "restart":
      reply({});
      return void host.setTimer(20, () => host.restart());
    case "exhaust": {
      const all: unknown[] = [];
      for (;;) all.push(new Array(1000).fill(all.length));
    }
    case "hold": {
      const held = new Uint8Array(ask.bytes);
      host.setTimer(0, () => void held.length);
      return reply({});
    }
    case "circle": {
      const circle = { bytes: new Uint8Array(ask.bytes), self: {} };
      circle.self = circle;
      return reply({});
    }
    case "reject":
      void Promise.reject(new Error("nobody looks"));
      return reply({});
    case "hang":
      host.watchdog(300);
      for (;;);
  }
}

function serve(host: Host, port: number): void {
  const { port: taken } = host.listen({ port }, (connection) => {
    let line = "";
    let onDrain: (() => void) | void;
    const reply: Reply = (content) => {
      connection.write(utf8(`${JSON.stringify(content)}\n`));
      connection.end();
    };
    return {
      onData(bytes) {
        line += fromUtf8(bytes);
        if (!line.endsWith("\n")) return;
        try {
          onDrain = answer(host, JSON.parse(line) as Ask, reply, connection);
        } catch (error) {
          reply({ error: String(error) });
          throw error;
        }
      },
      onDrain: () => onDrain?.(),
      onEnd: () => undefined,
      onError: (text) => host.log(text),
    };
  });
  host.log(`listening at ${taken}`);
}

function machineMicro(native: Native, optionsText: string): Dispatch {
  const options = JSON.parse(optionsText) as { port: number; version: string };
  const { host, dispatch } = nativeHost(native, {
    version: options.version,
    onStop: () => host.log("stopping"),
  });
  serve(host, options.port);
  return dispatch;
}

Object.assign(globalThis, { machineMicro });
