/** Waits at the cloud's signaller for calls, under the machine's names. */
import type { Client } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { CloudConnection } from "../../../shared/cloud/client/connection.ts";
import type { CloudBlock } from "../../../shared/config/cloud_block.ts";
import type { MachineCredentials } from "../../../shared/cloud/credentials/credentials_file.ts";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { AnsweredCall } from "../../../shared/rtc/signaling/answerer_options.ts";
import type { RtcPeer, RtcPeers } from "../../../shared/rtc/webrtc/peer.ts";
import { answeredNames, signalingAddress } from "./signaling_address.ts";

/** How a machine reaches its cloud. */
export interface SignalingCloud {
  /** The connection to `credentials.appAddress`; not closed here. */
  readonly connection: CloudConnection;
  readonly credentials: MachineCredentials;
  /** `-allow-insecure-creds` */
  readonly allowInsecure: boolean;
}

export interface CloudAnswererOptions {
  readonly cloud: SignalingCloud;
  readonly peers: RtcPeers;
  accept(peer: RtcPeer, call: AnsweredCall): void;
  readonly clock: Clock;
  readonly log: Logger;
  /** Random numbers in [0, 1). */
  readonly random: () => number;
}

interface Running {
  readonly key: string;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

export class CloudAnswerer {
  #running: Running | undefined;
  #closed = false;

  constructor(private readonly options: CloudAnswererOptions) {}

  /** Waits where and under which names the configuration specifies; again when that has changed. */
  follow(block: CloudBlock | undefined): void {
    if (this.#closed) return;
    const hosts = answeredNames(block ?? {});
    const address = signalingAddress(block ?? {}, this.options.cloud.credentials.appAddress);
    const key = JSON.stringify([address, ...hosts]);
    if (this.#running?.key === key) return;
    const before = this.#running;
    before?.stop.abort(new Error("the machine is called otherwise now"));
    this.#running = undefined;
    if (hosts.length === 0) return;
    const stop = new AbortController();
    const ended = this.#run(address, hosts, stop.signal).catch((error) =>
      this.options.log.warn(
        `calls over WebRTC that come through ${address} are not answered: ${
          toError(error).message
        }`,
        { event: "webrtc_failed" },
      )
    );
    this.#running = { key, stop, ended: Promise.all([before?.ended, ended]).then(() => {}) };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#running?.stop.abort(new Error("the server is shutting down"));
    await this.#running?.ended;
  }

  async #run(address: string, hosts: readonly string[], signal: AbortSignal): Promise<void> {
    const { peers, accept, clock, log, random } = this.options;
    const { client, close } = this.#connect(address);
    try {
      const { Answerer } = await import("../../../shared/rtc/signaling/answerer.ts");
      const answerer = new Answerer({ client, hosts, peers, accept, clock, log, random });
      if (!signal.aborted) await answerer.run(signal);
    } finally {
      close();
    }
  }

  #connect(address: string): { client: Client<typeof SignalingService>; close: () => void } {
    const { cloud: { connection, credentials, allowInsecure }, log } = this.options;
    if (address === credentials.appAddress) {
      return { client: connection.client(SignalingService), close: () => {} };
    }
    const other = CloudConnection.open({
      appAddress: address,
      credentials: credentials.credentials,
      allowInsecure,
      log,
    });
    return { client: other.client(SignalingService), close: () => other.close() };
  }
}
