/**
 * What the states, events and effects of the networks' state machine are. All times are
 * milliseconds of the monotonic clock unless they say otherwise; {@link next} is the table.
 */

/** How the machine stands with its networks. */
export type NetworkState =
  /** It reaches the cloud or the internet, and has credentials. */
  | { readonly kind: "online" }
  /** It does not; networks are tried and provisioning begins when it is time. */
  | {
    readonly kind: "offline";
    /** Nothing is tried before, so that NetworkManager can connect automatically. */
    readonly waitUntilMs: number;
    /**
     * Labels still to be tried before provisioning may begin again; see `isRetry`. `in reach`: those
     * that are it when the wait is over, as a radio that was an access point sees nothing before.
     */
    readonly left: readonly string[] | "in reach";
    /** Provisioning was left so that other connections can be tried. */
    readonly isRetry: boolean;
  }
  /** One of the known networks is connected to. */
  | {
    readonly kind: "trying";
    readonly label: string;
    readonly deadlineMs: number;
    readonly left: readonly string[];
    readonly isRetry: boolean;
  }
  /** A person can give networks and credentials, and nobody does right now. */
  | { readonly kind: "provisioning"; readonly untilMs: number }
  /** Somebody is at it. */
  | { readonly kind: "user-active"; readonly untilMs: number; readonly idleMs: number }
  /** What a person gave is applied; the hotspot is away meanwhile. */
  | { readonly kind: "connecting"; readonly deadlineMs: number }
  /** There is a connection; does it reach anything? */
  | {
    readonly kind: "verifying";
    readonly deadlineMs: number;
    /** A person chose it; else the label of the network that was tried. */
    readonly of: "person" | "candidate";
    readonly label: string;
    readonly left: readonly string[];
    readonly isRetry: boolean;
  };

export type NetworkStateKind = NetworkState["kind"];

/** The state machine's memory. */
export interface NetworkRecord {
  readonly state: NetworkState;
  /** Since when it has not been online; undefined while it is. */
  readonly offlineSinceMs: number | undefined;
  /** Since when it is online without a break; undefined while it is not. */
  readonly onlineSinceMs: number | undefined;
  /** Reboots of the host since it was online last for {@link STEADY_MS}. */
  readonly reboots: number;
  /** When the last reboot was requested in this run; undefined: not yet. */
  readonly rebootAskedMs: number | undefined;
}

/** What the world looks like. */
export interface Look {
  /** As connectivity says: the cloud, NetworkManager's check or the probe, or WiFi if that does. */
  readonly isOnline: boolean;
  readonly hasCredentials: boolean;
  /** A hotspot or Bluetooth is possible and wanted. */
  readonly canProvision: boolean;
  /** Labels of known networks that are in reach and not connected, the best first. */
  readonly candidates: readonly string[];
  /** The maintenance window, or a person, lets the host reboot now. */
  readonly mayReboot: boolean;
}

export type NetworkEvent =
  /** Also when nothing changed: it is how time passes. */
  | { readonly type: "looked"; readonly look: Look }
  /** The network of `trying` is connected, or could not be. */
  | { readonly type: "tried"; readonly label: string; readonly isConnected: boolean }
  | { readonly type: "user-active" }
  | { readonly type: "committed" }
  /** What a person gave was applied, or could not be. */
  | { readonly type: "applied"; readonly isConnected: boolean };

export type NetworkEffect =
  | { readonly type: "start-provisioning" }
  /** Takes down the hotspot and every way to provision. */
  | { readonly type: "stop-provisioning" }
  | { readonly type: "try"; readonly label: string }
  /** The attempt to join a network is abandoned. */
  | { readonly type: "give-up"; readonly label: string }
  /** Connects and writes what a person gave. */
  | { readonly type: "apply" }
  /** How it went with what a person gave. */
  | {
    readonly type: "verdict";
    readonly result: "online" | "no-connection" | "no-internet" | "timeout";
  }
  /** Reboots the host; `reboots` is on disk before. */
  | { readonly type: "reboot" };

/** The settings that count, in milliseconds. */
export interface NetworkRules {
  readonly offlineBeforeProvisioningMs: number;
  readonly retryMs: number;
  readonly userIdleMs: number;
  /** 0: never. */
  readonly rebootAfterOfflineMs: number;
}

export interface Moment {
  readonly nowMs: number;
  readonly rules: NetworkRules;
}

/** NetworkManager connects automatically to what it knows; it takes some seconds after a loss. */
export const GRACE_MS = 15_000;
/** A network that is tried has so long to connect: association, keys and DHCP. */
export const TRY_MS = 45_000;
/** So long to reach anything once connected. */
export const VERIFY_MS = 25_000;
/** What a person gave has so long until there is a connection or a reason. */
export const CONNECT_MS = 60_000;
/** After provisioning, wired and foreign networks get so long before it begins again. */
export const SETTLE_MS = 30_000;
/** Online for so long counts as steady: the restarts before are forgotten. */
export const STEADY_MS = 10 * 60_000;
/** So many restarts without being online in between; after them at most one a day. */
export const MOST_REBOOTS = 3;
export const REBOOT_REST_MS = 24 * 3_600_000;
/** A restart that was requested takes so long, or has failed. */
export const REBOOT_TAKES_MS = 5 * 60_000;

/** How every run begins; a kept record brings its offline time and its reboots along. */
export function initialRecord(
  nowMs: number,
  kept: { readonly offlineForMs?: number | undefined; readonly reboots?: number } = {},
): NetworkRecord {
  const { offlineForMs = 0, reboots = 0 } = kept;
  return {
    state: { kind: "offline", waitUntilMs: nowMs + GRACE_MS, left: [], isRetry: false },
    offlineSinceMs: nowMs - Math.max(0, offlineForMs),
    onlineSinceMs: undefined,
    reboots,
    rebootAskedMs: undefined,
  };
}

/** What a state is called for people. */
export const STATE_NAMES: Readonly<Record<NetworkStateKind, string>> = {
  "online": "online",
  "offline": "offline",
  "trying": "trying networks",
  "provisioning": "provisioning",
  "user-active": "user active",
  "connecting": "connecting",
  "verifying": "verifying",
};
