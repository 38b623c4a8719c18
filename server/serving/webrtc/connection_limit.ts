/** How many WebRTC connections a machine has at a time, and how long they may take to open. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { RtcOptions, RtcPeer, RtcPeers } from "../../../shared/rtc/webrtc/peer.ts";

/**
 * A connection holds sockets and about 1 MB; 64 are far more than the programs of one machine, and
 * few enough for a small board.
 */
export const MOST_CONNECTIONS = 64;
/** A connection that is not open this long after its answer is dropped. Milliseconds. */
export const OPEN_TIMEOUT_MS = 10_000;

export interface ConnectionLimitOptions {
  /** Makes the connections. */
  readonly peers: RtcPeers;
  readonly clock: Clock;
  /** Default {@link MOST_CONNECTIONS}. */
  readonly most?: number;
  /** Called when the last connection has ended. */
  readonly onNone: () => void;
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
    const { most = MOST_CONNECTIONS } = this.options;
    if (this.#count >= most) {
      throw new ConnectError(
        `this machine has ${most} WebRTC connections already; close one, or connect directly`,
        Code.ResourceExhausted,
      );
    }
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
    if (this.#count === 0) this.options.onNone();
  }
}
