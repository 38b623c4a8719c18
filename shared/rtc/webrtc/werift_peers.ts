/** WebRTC peers made with werift, which is loaded with the first of them. */
import type { Logger } from "../../log/logger.ts";
import type { Clock } from "../../base/time/clock.ts";
import type { RtcPeers } from "./peer.ts";
import type { PeerFactory } from "./werift_peer.ts";

/** What peers need. */
export interface WeriftPeersOptions {
  clock: Clock;
  log: Logger;
  /** Milliseconds until a connection must be open; default 30,000. */
  openDeadlineMs?: number;
}

const OPEN_DEADLINE_MS = 30_000;

/** Nothing is loaded, opened or kept before the first connection is made or prepared. */
export function weriftPeers(options: WeriftPeersOptions): RtcPeers {
  let factory: Promise<PeerFactory> | undefined;
  const load = () =>
    factory ??= loadFactory(options).catch((error) => {
      factory = undefined;
      throw error;
    });
  return {
    prepare: () => void load().catch(() => {}),
    answer: async (offerSdp, rtc) => (await load()).answer(offerSdp, rtc),
    offer: async (rtc) => (await load()).offer(rtc),
  };
}

async function loadFactory(options: WeriftPeersOptions): Promise<PeerFactory> {
  const [{ PeerFactory }, { useNativeCurves }] = await Promise.all([
    import("./werift_peer.ts"),
    import("./native_curves.ts"),
  ]);
  useNativeCurves();
  return new PeerFactory({ openDeadlineMs: OPEN_DEADLINE_MS, ...options });
}
