import { createHmac } from "node:crypto";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { IceServer } from "../../../shared/rtc/webrtc/peer.ts";

/** A STUN or TURN server of the operator's. */
export type IceServerSetting =
  | (IceServer & { readonly secret?: undefined })
  | {
    readonly urls: string[];
    /** Shared with the TURN server: every caller gets a credential of its own for a while. */
    readonly secret: string;
    readonly lifetimeSeconds: number;
  };

/**
 * What `entity` may use now. Where a secret is shared, the user name is `EXPIRY:ENTITY` with
 * seconds since 1970, and the credential its HMAC-SHA-1 in base64, as coturn's `use-auth-secret`
 * wants it.
 */
export function iceServersFor(
  settings: readonly IceServerSetting[],
  entity: string,
  clock: Clock,
): IceServer[] {
  return settings.map((setting) => {
    if (setting.secret === undefined) return setting;
    const { urls, secret, lifetimeSeconds } = setting;
    const expiry = Math.floor(clock.now().getTime() / 1_000) + lifetimeSeconds;
    const username = `${expiry}:${entity}`;
    const credential = createHmac("sha1", secret).update(username).digest("base64");
    return { urls, username, credential };
  });
}
