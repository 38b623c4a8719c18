import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Calls } from "../../../shared/rtc/signaling/call_queue.ts";
import type { IceServer, RtcPeers } from "../../../shared/rtc/webrtc/peer.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { DeviceCalls } from "./device_calls.ts";
import type { CallerLookup } from "./reaching_caller.ts";
import type { RelayBus } from "./relay_bus.ts";

/** Metadata of a call through the signaller: stands for its caller within this process. */
export const TICKET_METADATA = "relay-ticket";

/** What the relay needs. */
export interface RelayOptions {
  readonly queries: Queries;
  readonly callers: Callers;
  readonly calls: DeviceCalls;
  /** To the other nodes of this cloud. */
  readonly bus: RelayBus;
  readonly lookup: CallerLookup;
  /** Where calls wait to be answered. */
  readonly queue: Calls;
  readonly iceServers: (entity: string) => readonly IceServer[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Makes connections. Default: werift. */
  readonly peers?: RtcPeers | undefined;
}
