/** {@link GroupSocket} with the library multicast-dns. */
import { createSocket } from "node:dgram";
import type { Packet } from "dns-packet";
import multicastDns from "multicast-dns";
import type { GroupHandlers, GroupSocket, OpenGroupSocket } from "./group_socket.ts";
import { MDNS_PORT, type Said, type Sender } from "./mdns_message.ts";

const GROUP = "224.0.0.251";
/** RFC 6762, 11. */
const HOPS = 255;
/**
 * Longest message (RFC 6762, 17). Deno takes as much memory for each one that it reads; with its
 * default of 64 KiB a few hundred messages of others cost 15 MB.
 */
const LONGEST_MESSAGE = 9_000;

/**
 * One socket of the system for all links, open while there are any: each socket of a group receives
 * every link, and so with one for each link every message would be read as often as there are
 * links. The port is shared with other responders on this host, as avahi-daemon.
 */
export function multicastSockets(): OpenGroupSocket {
  let shared: SharedSocket | undefined;
  return (address, handlers) => {
    if (!shared?.isOpen) shared = new SharedSocket();
    return shared.add(address, handlers);
  };
}

class SharedSocket {
  readonly #socket = createSocket({
    type: "udp4",
    reuseAddr: true,
    recvBufferSize: LONGEST_MESSAGE,
  });
  readonly #mdns;
  /** Handlers by the address that is spoken from. */
  readonly #links = new Map<GroupHandlers, string>();
  #isReady = false;
  #closed: Promise<void> | undefined;
  /** The system keeps one link to send by: each message sets it. */
  #sending: Promise<void> = Promise.resolve();

  constructor() {
    this.#socket.on("listening", () => {
      this.#isReady = true;
      for (const address of this.#links.values()) this.#join(address);
    });
    this.#mdns = multicastDns({
      socket: this.#socket,
      bind: "0.0.0.0",
      port: MDNS_PORT,
      multicast: false,
    });
    this.#mdns.on("error", (error: Error) => this.#fail(error));
    this.#mdns.on("warning", () => {}); // A message that is none.
    this.#mdns.on("packet", (message: Packet, from: Sender) => this.#heard(message, from));
  }

  get isOpen(): boolean {
    return this.#closed === undefined;
  }

  add(address: string, handlers: GroupHandlers): GroupSocket {
    this.#links.set(handlers, address);
    if (this.#isReady) this.#join(address);
    return {
      send: (message, to) => {
        const sent = this.#sending.then(() => this.#send(address, message, to));
        this.#sending = sent.catch(() => {});
        return sent;
      },
      refresh: () => this.#join(address),
      close: async () => {
        this.#links.delete(handlers);
        if (this.#links.size === 0) await this.#close();
        else attempt(() => this.#socket.dropMembership(GROUP, address));
      },
    };
  }

  #heard(message: Packet, { address, port }: Sender): void {
    for (const handlers of [...this.#links.keys()]) {
      // Whatever a stranger sends: the library throws it at the process otherwise.
      attempt(() => handlers.heard(message, { address, port }));
    }
  }

  #send(address: string, message: Said, to: Sender | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!to && this.#isReady && this.isOpen) this.#socket.setMulticastInterface(address);
      const done = (error: Error | null) => error ? reject(error) : resolve();
      // The types know no questions of the type ANY.
      const { questions = [], answers = [], ...rest } = message as Packet;
      if (message.type === "query") this.#mdns.query({ ...rest, questions }, done);
      else this.#mdns.respond({ ...rest, questions, answers }, to, done);
    });
  }

  /** Does nothing for a link that is a member already, or is gone. */
  #join(address: string): void {
    attempt(() => this.#socket.setMulticastTTL(HOPS));
    attempt(() => this.#socket.addMembership(GROUP, address));
  }

  #fail(error: Error): void {
    if (!this.isOpen) return;
    const all = [...this.#links.keys()];
    this.#links.clear();
    void this.#close();
    for (const handlers of all) handlers.failed(error);
  }

  #close(): Promise<void> {
    return this.#closed ??= new Promise((resolve) => {
      // One that was never bound cannot be closed.
      if (!attempt(() => this.#mdns.destroy(resolve))) resolve();
    });
  }
}

function attempt(run: () => void): boolean {
  try {
    run();
    return true;
  } catch {
    return false;
  }
}
