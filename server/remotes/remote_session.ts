/** This machine's session at a remote: what it moved there stops when it falls silent. */
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { Clock, Timer } from "../../shared/base/time/clock.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";

/** Request metadata: the session that a call belongs to. */
export const SESSION_HEADER = "viam-sid";
/** Heartbeats in one window, as of SDKs. */
const BEATS = 5;
/** Shortest and longest window that is taken over, in milliseconds; those of servers. */
const WINDOW_MS = { min: 30, max: 60_000 };
const CALL_MS = 5_000;

/** Begins with the first call that moves something, and is kept alive from then on. */
export class RemoteSession {
  readonly #client: Client<typeof RobotService>;
  readonly #stop = new AbortController();
  #current: Promise<string | undefined> | undefined;
  #id: string | undefined;
  #timer: Timer | undefined;

  constructor(transport: Transport, private readonly clock: Clock) {
    this.#client = createClient(RobotService, transport);
  }

  /**
   * Its id; undefined for a remote that has no sessions.
   *
   * @throws {ConnectError} when it cannot be begun; the next call tries again.
   */
  async id(): Promise<string | undefined> {
    const current = this.#current ??= this.#start();
    try {
      return await current;
    } catch (error) {
      if (this.#current === current) this.#current = undefined;
      throw error;
    }
  }

  /** The remote no longer knows the session; the next call begins another. */
  expired(id: string): void {
    if (this.#id === id) this.#forget();
  }

  /** Ends the heartbeats: the remote stops what was moved. */
  close(): void {
    this.#forget();
    this.#stop.abort(new ConnectError("the connection was closed", Code.Unavailable));
  }

  #forget(): void {
    this.#current = undefined;
    this.#id = undefined;
    this.#timer?.cancel();
  }

  async #start(): Promise<string | undefined> {
    const options = { signal: this.#stop.signal, timeoutMs: CALL_MS };
    let answer;
    try {
      answer = await this.#client.startSession({}, options);
    } catch (error) {
      if (ConnectError.from(error).code === Code.Unimplemented) return undefined;
      throw error;
    }
    const { id, heartbeatWindow } = answer;
    const windowMs = heartbeatWindow ? durationMs(heartbeatWindow) : 2_000;
    const everyMs = Math.min(Math.max(windowMs, WINDOW_MS.min), WINDOW_MS.max) / BEATS;
    this.#id = id;
    this.#beatLater(id, everyMs);
    return id;
  }

  #beatLater(id: string, everyMs: number): void {
    if (this.#stop.signal.aborted || this.#id !== id) return;
    this.#timer = this.clock.setTimer(everyMs, () => {
      const options = { signal: this.#stop.signal, timeoutMs: CALL_MS };
      this.#beatLater(id, everyMs);
      this.#client.sendSessionHeartbeat({ id }, options).catch((error) => {
        if (isSessionExpired(error)) this.expired(id);
      });
    });
  }
}

/** What servers answer that do not know the session. */
export function isSessionExpired(error: unknown): boolean {
  const { code, rawMessage } = ConnectError.from(error);
  return code === Code.InvalidArgument && rawMessage.includes("SESSION_EXPIRED");
}
