/**
 * WebRTC: answers callers who were brought here by the machine's own port or by its cloud, and
 * serves them the same API as the port. What connects is loaded with the first call.
 */
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { hostname } from "node:os";
import type { MachineConfig } from "../../../shared/config/machine_config.ts";
import type { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { ROLE_METADATA } from "../../../shared/rights/roles.ts";
import { LocalAddresses } from "../../../shared/rpc/server/peer.ts";
import type { AnsweredCall } from "../../../shared/rtc/signaling/answerer_options.ts";
import type { RtcPeer, RtcPeers } from "../../../shared/rtc/webrtc/peer.ts";
import { CloudAnswerer } from "./cloud_answerer.ts";
import { isNameOf } from "./machine_names.ts";
import type { OwnSignaling } from "./own_signaling.ts";
import type { RemoteCaller } from "./served_peers.ts";
import type { Serving } from "./serving.ts";
import type { WebRtcOptions } from "./webrtc_options.ts";

type Signaling = ServiceImpl<typeof SignalingService>;

export class WebRtc {
  readonly #addresses = new LocalAddresses();
  readonly #answerer: CloudAnswerer | undefined;
  readonly #random: () => number;
  #fqdns: readonly string[] = [];
  #serving: Promise<Serving> | undefined;
  #own: Promise<OwnSignaling> | undefined;
  #closed = false;

  constructor(private readonly options: WebRtcOptions) {
    const { enabled, cloud, clock, log } = options;
    this.#random = options.random ?? Math.random;
    if (!enabled || !cloud) return;
    this.#answerer = new CloudAnswerer({
      cloud,
      peers: this.#peers,
      accept: (peer, call) => this.#accept(peer, this.#cloudCaller(call)),
      clock,
      log,
      random: this.#random,
    });
  }

  /** For the own port. With `-webrtc=false` no name is known, so that SDKs connect directly. */
  readonly signaling: Signaling = this.#ownService();

  /** Follows the machine's names and the place of its signaller. */
  follow({ cloud, network }: Pick<MachineConfig, "cloud" | "network">): void {
    this.#fqdns = [cloud?.fqdn, cloud?.local_fqdn, network?.fqdn]
      .filter((name): name is string => !!name);
    this.#answerer?.follow(cloud);
  }

  /** Loads what takes calls at the own port, so that the first does not wait for it. */
  prepare(): void {
    this.#loadOwn().catch(() => {});
  }

  /** To be called when other callers are let in than before. Never rejects. */
  async accessChanged(): Promise<void> {
    (await this.#serving?.catch(() => undefined))?.served.sweep();
  }

  /** Answers nobody any more, lets running calls continue for `graceMs`, closes all connections. */
  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#answerer?.close(), this.#own?.then((own) => own.close())]);
    await (await this.#serving)?.close(graceMs);
  }

  get #peers(): RtcPeers {
    return {
      answer: async (...asked) => (await this.#load()).peers.answer(...asked),
      offer: async (...asked) => (await this.#load()).peers.offer(...asked),
    };
  }

  #load(): Promise<Serving> {
    return this.#serving ??= import("./serving.ts").then(({ serving }) => serving(this.options));
  }

  async #accept(peer: RtcPeer, caller: RemoteCaller): Promise<void> {
    (await this.#load()).served.accept(peer, caller);
  }

  /** Whom the cloud reports nothing of still needs a name of its own: sessions have owners. */
  #cloudCaller({ uuid, callerEntity, callerMetadata }: AnsweredCall): RemoteCaller {
    const reported = callerMetadata[ROLE_METADATA];
    const role = reported === "owner" || reported === "operator" ? reported : undefined;
    return {
      identity: this.options.access.vouchedByCloud(callerEntity || `webrtc ${uuid}`, role),
      address: "",
      port: 0,
      signaledBy: "cloud",
    };
  }

  #ownService(): Signaling {
    const own = async () => (await this.#loadOwn()).service;
    return {
      call: async function* (request, context) {
        yield* (await own()).call(request, context);
      },
      callUpdate: async (request, context) => await (await own()).callUpdate(request, context),
      // deno-lint-ignore require-yield
      answer: async function* () {
        throw unknownHost();
      },
      optionalWebRTCConfig: async (request, context) => {
        const answer = await (await own()).optionalWebRTCConfig(request, context);
        // The caller offers next; what answers it takes a moment to load.
        void this.#load().then(({ peers }) => peers.prepare(), () => {});
        return answer;
      },
      reportConnectionMetadata: () => ({}),
    };
  }

  #loadOwn(): Promise<OwnSignaling> {
    const { enabled, clock, log, port, cloud } = this.options;
    if (!enabled || this.#closed) return Promise.reject(unknownHost());
    return this.#own ??= import("./own_signaling.ts").then(({ ownSignaling }) =>
      ownSignaling({
        isOurs: (host) =>
          isNameOf(host, {
            fqdns: this.#fqdns,
            hasCloud: cloud !== undefined,
            port: port(),
            hostname: hostname(),
            isOwnAddress: (address) => this.#addresses.has(address),
          }),
        peers: this.#peers,
        accept: (peer, caller) => this.#accept(peer, caller),
        clock,
        log,
        random: this.#random,
      })
    );
  }
}

/** The text that SDKs look for before they connect directly. */
function unknownHost(): ConnectError {
  return new ConnectError("host not preconfigured", Code.InvalidArgument);
}
