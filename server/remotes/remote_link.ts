/** An open connection to a remote. */
import type { ForwardChannel } from "../../shared/rpc/client/forward.ts";

/** How a remote is reached, as logs report it. */
export type Way = "webrtc through the cloud" | "webrtc" | "tls" | "plaintext";

export interface RemoteLink {
  /** Calls to the remote, signed in. */
  readonly channel: ForwardChannel;
  readonly way: Way;
  /**
   * Resolves with why the connection ended, where that is noticed without a call; never for a
   * connection that reconnects with the next call.
   */
  readonly ended: Promise<string>;
  close(): void;
}
