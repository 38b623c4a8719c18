/** Serves the machine's API over WebRTC connections. */
import { type ContextKey, createContextKey } from "@connectrpc/connect";
import { type Identity, identityKey } from "../../../shared/cloud/auth/identity.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { serveDataChannel } from "../../../shared/rpc/data_channel/server.ts";
import type { UnexpectedErrorReporter } from "../../../shared/rpc/server/errors.ts";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import { RequestBudgets } from "../../../shared/rpc/server/request_budget.ts";
import type { RpcRouter } from "../../../shared/rpc/server/router.ts";
import type { RtcPeer } from "../../../shared/rtc/webrtc/peer.ts";

/** The connection that a call came over; undefined for calls to the port. */
export const rtcPeerKey: ContextKey<RtcPeer | undefined> = createContextKey<RtcPeer | undefined>(
  undefined,
  { description: "WebRTC connection of the call" },
);

/** Who the peer of a connection is. */
export interface RemoteCaller {
  /** Undefined where nobody signs in. */
  readonly identity: Identity | undefined;
  /** Where it called from, as far as the signalling reported it; empty when it could not. */
  readonly address: string;
  readonly port: number;
  /** Who brought the two together. */
  readonly signaledBy: "own port" | "cloud";
}

export interface ServedPeersOptions {
  readonly router: RpcRouter;
  readonly interceptors: readonly Interceptor[];
  /** Whether calls with this identity are let in at the moment. */
  readonly stands: (identity: Identity | undefined) => boolean;
  readonly report: UnexpectedErrorReporter;
  readonly log: Logger;
}

interface Served {
  readonly peer: RtcPeer;
  readonly caller: RemoteCaller;
  close(graceMs: number): Promise<void>;
}

export class ServedPeers {
  readonly #served = new Set<Served>();
  readonly #stop = new AbortController();
  readonly #budgets = new RequestBudgets();

  constructor(private readonly options: ServedPeersOptions) {}

  /** Connections at the moment. */
  get count(): number {
    return this.#served.size;
  }

  /** Serves a connection that is open, until it ends or its caller is no longer let in. */
  accept(peer: RtcPeer, caller: RemoteCaller): void {
    const { router, interceptors, report, log, stands } = this.options;
    const { identity, address, port, signaledBy } = caller;
    if (this.#stop.signal.aborted || !stands(identity)) {
      void peer.close();
      return;
    }
    const served = serveDataChannel(peer.channel, {
      router,
      interceptors,
      peer: { address, port, transport: "webrtc", local: false },
      values: (values) => {
        values.set(rtcPeerKey, peer);
        if (identity) values.set(identityKey, identity);
      },
      budgets: this.#budgets,
      report,
      signal: this.#stop.signal,
    });
    const fields = {
      signaled_by: signaledBy,
      ...(address && { peer: address }),
      ...(identity && { entity: identity.entity }),
    };
    const entry = { peer, caller, close: (graceMs: number) => served.close(graceMs) };
    this.#served.add(entry);
    log.debug("a WebRTC connection is open", fields);
    void peer.closed.then((reason) => {
      this.#served.delete(entry);
      log.debug(`a WebRTC connection was closed: ${reason}`, fields);
    });
  }

  /** Ends the connections of callers that are no longer let in; to be called when rules change. */
  sweep(): void {
    for (const { peer, caller } of this.#served) {
      if (this.options.stands(caller.identity)) continue;
      this.options.log.info("a WebRTC connection is closed: its caller is no longer authorized", {
        signaled_by: caller.signaledBy,
        ...(caller.identity && { entity: caller.identity.entity }),
      });
      void peer.close();
    }
  }

  /** Takes no more; running calls may continue for `graceMs`, then everything is closed. */
  async close(graceMs: number): Promise<void> {
    const served = [...this.#served];
    await Promise.all(served.map(async (entry) => {
      await entry.close(graceMs);
      await entry.peer.close();
    }));
    this.#stop.abort(new Error("the server is shutting down"));
    await Promise.all([...this.#served].map(({ peer }) => peer.close()));
  }
}
