import type { ConnectError, HandlerContext } from "@connectrpc/connect";

/** Who calls, as the signaller found out. */
export interface SignalingCaller {
  /** The same for all calls of one caller, different for any other: only the owner updates a call. */
  readonly owner: string;
  /** What is reported to the machine of the caller: the entity of its token. Empty: unknown. */
  readonly entity: string;
  /** What else is reported to the machine, such as the type of its credentials. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** A host as one caller may reach it. */
export interface CallableHost {
  /** What calls and answers of this host meet under; names of the same machine have one. */
  readonly key: string;
  readonly caller: SignalingCaller;
}

/** A machine that may answer. */
export interface AnsweringHosts {
  /** The keys of all its hosts, as in {@link CallableHost.key}. */
  readonly keys: readonly string[];
  /** Who it is, for credentials of ICE servers. */
  readonly entity?: string;
  /** Its stream is open; call what is returned when it has ended. */
  opened(): () => void;
  /** Asked with each heartbeat, every 15 s. @throws {ConnectError} it may not answer any more. */
  check(): Promise<void>;
  /**
   * Notifies as soon as it may not answer any more; the returned function ends that. Left out: only
   * `check()` reports it.
   */
  whenRefused?(listener: (error: ConnectError) => void): () => void;
}

/** Who may reach and answer for which hosts. */
export interface SignalingAccess {
  /**
   * What a caller may call by the name `host`; undefined: no such host for this caller, whether it
   * exists for others or not.
   *
   * @throws {ConnectError} PERMISSION_DENIED when the caller sees the host but may not call it.
   */
  callable(host: string, context: HandlerContext): Promise<CallableHost | undefined>;
  /** The same for a machine that wants to answer for all of `hosts`, one to five. */
  answering(
    hosts: readonly string[],
    context: HandlerContext,
  ): Promise<AnsweringHosts | undefined>;
}
