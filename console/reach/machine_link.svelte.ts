import { untrack } from "svelte";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import type { DescService } from "@bufbuild/protobuf";
import { SignalingService } from "../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { ResourceName } from "../../shared/gen/viam/common/v1/common_pb.ts";
import { StreamService } from "../../shared/gen/proto/stream/v1/stream_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { RELAYED_HEADER } from "../../shared/rpc/data_channel/relayed_header.ts";
import { createDataChannelTransport } from "../../shared/rpc/data_channel/transport.ts";
import { callPeer } from "../../shared/rtc/signaling/caller.ts";
import { reasonOf, refusal } from "../../shared/rpc/reasons.ts";
import { isSignedOut } from "../api/errors.ts";
import { transport as cloud } from "../api/session.svelte.ts";
import { type BrowserPeer, browserPeers, wayOf } from "./browser_peers.ts";
import { RobotSession } from "./robot_session.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** How often the resources are requested: what a new configuration brings is seen within it. */
const LOOK_EVERY_MS = 3_000;
const DEADLINE_MS = 10_000;
/** The machine looks for its encoders with the first video. */
const VIDEO_DEADLINE_MS = 20_000;

/** Deadline of a call that moves something: moves may take long, and answer when they are done. */
export const MOVE_DEADLINE_MS = 10 * 60_000;

/** How a page stands to the machine. */
export type LinkState = "connecting" | "connected" | "failed";

/**
 * The connection from this browser to one part, by WebRTC through the cloud's signalling. It comes
 * back automatically. All calls belong to a session, so that what moves stops when this page goes
 * away.
 */
export class MachineLink {
  state = $state<LinkState>("connecting");
  /** Straight to the machine, by a TURN server, or to the cloud, which passes the calls on. */
  way = $state<"direct" | "relay" | "cloud">();
  /** Time that the last question for resources took, in milliseconds. */
  roundTripMs = $state<number>();
  error = $state.raw<unknown>();
  resources = $state.raw<readonly ResourceName[]>([]);
  /** Counts connections: what was learned over an earlier one may be out of date. */
  generation = $state(0);
  readonly #stop = new AbortController();
  #transport = $state.raw<Transport>();
  #peer: BrowserPeer | undefined;
  #wake: () => void = () => undefined;

  constructor(private readonly host: string) {}

  /** Connects, and stays connected until the returned function is called. */
  open(): () => void {
    // Whose effect opens it must not open it again for what changes here.
    untrack(() => void this.#run());
    return () => this.#stop.abort(new Error("the page is left"));
  }

  /** Tries now, where it waits to try again. */
  retry(): void {
    this.#wake();
  }

  /** A client of the machine; its calls fail with UNAVAILABLE while there is no connection. */
  client<S extends DescService>(service: S): Client<S> {
    return createClient(service, this.transport);
  }

  /**
   * A camera's video, as a track of this connection.
   *
   * @returns the stream, and what ends it.
   * @throws {ConnectError} with the machine's reason why there is none.
   */
  async video(name: string): Promise<{ stream: MediaStream; stop: () => void }> {
    if (!this.#peer) throw notConnected();
    const streams = this.client(StreamService);
    const stop = (): void => void streams.removeStream({ name }).catch(() => undefined);
    try {
      const stream = await this.#peer.videos.next(
        name,
        () => streams.addStream({ name }, { timeoutMs: VIDEO_DEADLINE_MS }),
      );
      return { stream, stop };
    } catch (error) {
      stop();
      throw error;
    }
  }

  get transport(): Transport {
    return this.#transport ?? unreachable;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      this.state = this.error === undefined ? "connecting" : this.state;
      try {
        await this.#connection(signal, () => pauseMs = FIRST_PAUSE_MS);
        this.state = "connecting";
      } catch (error) {
        if (signal.aborted) return;
        this.error = error;
        this.state = "failed";
        if (isSignedOut(error)) return;
      }
      this.#transport = undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, pauseMs * (0.75 + Math.random() / 2));
      });
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  /** One connection from its beginning to its end. */
  async #connection(signal: AbortSignal, connected: () => void): Promise<void> {
    const peer = await callPeer({
      client: createClient(SignalingService, cloud),
      ...{ host: this.host, peers: browserPeers, signal },
    }).catch((error) => {
      throw withReason(error);
    }) as BrowserPeer;
    const session = new RobotSession();
    const transport = createDataChannelTransport(peer.channel, {
      interceptors: [session.interceptor],
    });
    const robot = createClient(RobotService, transport);
    try {
      await session.begin(robot, () => void peer.close());
      this.#transport = transport;
      this.#peer = peer;
      const ended = peer.closed.then(() => true);
      for (let looks = 0;; looks++) {
        const startedAt = performance.now();
        let isRelayed = false;
        const { resources } = await robot.resourceNames({}, {
          timeoutMs: DEADLINE_MS,
          onHeader: (header) => isRelayed = header.has(RELAYED_HEADER),
        });
        this.roundTripMs = performance.now() - startedAt;
        if (looks === 0) {
          this.way = isRelayed ? "cloud" : await wayOf(peer.connection);
          this.generation++;
          this.error = undefined;
          this.state = "connected";
          connected();
        }
        if (!sameNames(resources, this.resources)) this.resources = resources;
        if (await Promise.race([ended, pause(LOOK_EVERY_MS)])) return;
      }
    } finally {
      this.#peer = undefined;
      session.end();
      await peer.close();
    }
  }
}

function pause(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), ms));
}

/** `rdk:component:motor/left`. */
export function keyOf({ namespace, type, subtype, name }: ResourceName): string {
  return `${namespace}:${type}:${subtype}/${name}`;
}

function sameNames(a: readonly ResourceName[], b: readonly ResourceName[]): boolean {
  return a.length === b.length && a.every((name, at) => keyOf(name) === keyOf(b[at]!));
}

const unreachable: Transport = {
  unary: () => Promise.reject(notConnected()),
  stream: () => Promise.reject(notConnected()),
};

/** Signalling has codes alone: SDKs go by its texts, too. */
const REASONS: Readonly<Partial<Record<Code, "OFFLINE" | "NO_CONNECTION" | "TRY_LATER">>> = {
  [Code.NotFound]: "OFFLINE",
  [Code.DeadlineExceeded]: "NO_CONNECTION",
  [Code.ResourceExhausted]: "TRY_LATER",
};

function withReason(error: unknown): ConnectError {
  const failure = ConnectError.from(error);
  const reason = reasonOf(failure) ? undefined : REASONS[failure.code];
  return reason ? refusal(reason, {}, failure.rawMessage, failure.code, error) : failure;
}

function notConnected(): ConnectError {
  return refusal("NOT_CONNECTED", {}, "not connected to the machine", Code.Unavailable);
}
