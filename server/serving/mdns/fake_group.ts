/** A network of multicast DNS in memory, for tests. */
import { type Answer, decode, encode, type Packet } from "dns-packet";
import type { GroupHandlers, OpenGroupSocket } from "./group_socket.ts";
import { type Heard, MDNS_PORT, type Said, type Sender } from "./mdns_message.ts";

/** A message that went over the network. */
export interface Sent {
  /** Address of the sender. */
  readonly from: string;
  /** Undefined: to all. */
  readonly to: Sender | undefined;
  readonly message: Packet;
}

export class FakeGroup {
  readonly sent: Sent[] = [];
  /** Address → why nothing can be sent from there. */
  readonly broken = new Map<string, Error>();
  /** Notified of each message, before it is handled. */
  onSent: (sent: Sent) => void = () => {};
  /** Set: no socket can be opened. */
  refused: Error | undefined;
  opened = 0;
  readonly #sockets = new Map<GroupHandlers, string>();

  readonly open: OpenGroupSocket = (address, handlers) => {
    this.opened++;
    if (this.refused) {
      const error = this.refused;
      queueMicrotask(() => handlers.failed(error));
    } else {
      this.#sockets.set(handlers, address);
    }
    return {
      send: (message, to) => {
        const error = this.broken.get(address);
        if (error) return Promise.reject(error);
        if (this.#sockets.has(handlers)) this.say(address, message, to);
        return Promise.resolve();
      },
      refresh: () => {},
      close: () => {
        this.#sockets.delete(handlers);
        return Promise.resolve();
      },
    };
  };

  /** How many sockets are open. */
  get size(): number {
    return this.#sockets.size;
  }

  /** Sends as a program at this address would; all receive it, the sender too. */
  say(from: string, message: Said | Packet, to?: Sender): void {
    const heard: Heard = decode(encode(message as Packet));
    const sent = { from, to, message: heard };
    this.sent.push(sent);
    this.onSent(sent);
    if (to) return;
    for (const [handlers] of [...this.#sockets]) {
      handlers.heard(heard, { address: from, port: MDNS_PORT });
    }
  }

  /** What was said since the last call, in lines: `192.0.2.7 SRV robot._rpc._tcp.local 8080`. */
  lines(): string[] {
    return this.sent.splice(0).flatMap(({ from, message, to }) => {
      const start = `${from}${to ? `>${to.address}` : ""}`;
      if (message.type === "query") {
        return [`${start} ? ${message.questions?.map(({ name }) => name).join(" ")}`];
      }
      return (message.answers ?? []).map((record) => `${start} ${line(record)}`);
    });
  }
}

function line(record: Answer): string {
  if (record.type === "OPT") return "OPT";
  const gone = record.ttl === 0 ? " gone" : "";
  const data = record.type === "SRV" ? record.data.port : [record.data].flat().join(" ");
  return `${record.type} ${record.name} ${data}${gone}`;
}
