/** How many WebRTC connections there are at a time, and how long they may take to open. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../base/time/clock.ts";
import type { RtcOptions, RtcPeer, RtcPeers } from "./peer.ts";

/** A connection that is not open this long after its answer is dropped. Milliseconds. */
export const OPEN_TIMEOUT_MS = 10_000;

export interface ConnectionLimitOptions {
  /** Makes the connections; may be another limit. */
  readonly peers: RtcPeers;
  readonly clock: Clock;
  readonly most: number;
  /** The error of a caller who makes one too many. */
  readonly full: string;
  /** Called when the last connection has ended. */
  readonly onNone?: () => void;
}

/** Counts what it makes until it has ended. */
export class ConnectionLimit implements RtcPeers {
  #count = 0;

  constructor(private readonly options: ConnectionLimitOptions) {}

  /** Connections that are open or on their way. */
  get count(): number {
    return this.#count;
  }

  prepare(): void {
    this.options.peers.prepare?.();
  }

  /** @throws {ConnectError} RESOURCE_EXHAUSTED when there are too many. */
  answer(offerSdp: string, options: RtcOptions): ReturnType<RtcPeers["answer"]> {
    return this.#counted(() => this.options.peers.answer(offerSdp, options));
  }

  /** @throws {ConnectError} RESOURCE_EXHAUSTED when there are too many. */
  offer(options: RtcOptions): ReturnType<RtcPeers["offer"]> {
    return this.#counted(() => this.options.peers.offer(options));
  }

  async #counted<T extends { peer: RtcPeer }>(make: () => Promise<T>): Promise<T> {
    const { most, full } = this.options;
    if (this.#count >= most) throw new ConnectError(full, Code.ResourceExhausted);
    this.#count++;
    try {
      const made = await make();
      void made.peer.closed.then(() => this.#leave());
      this.#dropUnlessOpened(made.peer);
      return made;
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  #dropUnlessOpened(peer: RtcPeer): void {
    const timer = this.options.clock.setTimer(OPEN_TIMEOUT_MS, () => void peer.close());
    const settled = () => timer.cancel();
    peer.opened.then(settled, settled);
  }

  #leave(): void {
    this.#count--;
    if (this.#count === 0) this.options.onNone?.();
  }
}
