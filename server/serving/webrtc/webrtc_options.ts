import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import type { RpcRouter } from "../../../shared/rpc/server/router.ts";
import type { RtcPeers } from "../../../shared/rtc/webrtc/peer.ts";
import type { AccessControl } from "../access/access_control.ts";
import type { SignalingCloud } from "./cloud_answerer.ts";

export interface WebRtcOptions {
  /** `-webrtc` */
  readonly enabled: boolean;
  /** Undefined without a cloud. */
  readonly cloud: SignalingCloud | undefined;
  /** Port that the server listens on; undefined while it does not. */
  readonly port: () => number | undefined;
  /** Mounts what the port serves on a router. */
  readonly mount: (router: RpcRouter) => void;
  /** The same as the port's. */
  readonly interceptors: readonly Interceptor[];
  readonly access: Pick<AccessControl, "stands" | "vouchedByCloud">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Makes connections. Default: werift. */
  readonly peers?: RtcPeers | undefined;
  /** Random numbers in [0, 1). Default: the host's. */
  readonly random?: (() => number) | undefined;
}
