/**
 * What a person who sets a machine up sees and does. The portal, the provisioning API and Bluetooth
 * are three ways to it; the networks' state machine stands behind it.
 */

/** How a network lets somebody in. */
export type NetworkSecurity = "open" | "wpa2" | "wpa3" | "wep" | "enterprise";

/** A WiFi network that the last scan found; the strongest access point of each name. */
export interface VisibleNetwork {
  /** As text; bytes that are no UTF-8 are replaced. */
  readonly ssid: string;
  /** As it is sent: 1 to 32 bytes. */
  readonly ssidBytes: Uint8Array;
  readonly security: NetworkSecurity;
  /** 0 to 100. */
  readonly signal: number;
  /** The machine was connected to it before, or is configured to. */
  readonly isKnown: boolean;
}

/** A network as a person chose it. */
export interface ChosenNetwork {
  /** 1 to 32 bytes. */
  readonly ssid: Uint8Array;
  /** Empty: an open network. Else 8 to 63 characters, or 64 hexadecimal digits. */
  readonly psk: string;
  /** It hides its name. */
  readonly isHidden: boolean;
}

/** Why a try failed, as far as it is known. */
export type ConnectionFailure =
  | "wrong-password"
  | "not-found"
  | "no-address"
  | "no-internet"
  | "cloud-unreachable"
  | "cloud-refused"
  | "other";

/** The last try to connect to a network that a person chose. */
export interface ConnectionAttempt {
  readonly ssid: string;
  readonly security: NetworkSecurity;
  /** 0 to 100; 0 when it was not seen. */
  readonly signal: number;
  readonly result: "connecting" | "connected" | "failed";
  /** Why it failed, in words for that person; undefined unless it failed. */
  readonly error: string | undefined;
  /**
   * The same as {@link error} in a form that can be determined in another language. Default:
   * `other`.
   */
  readonly failure?: ConnectionFailure | undefined;
}

export interface ProvisioningStatus {
  readonly fragmentId: string;
  readonly manufacturer: string;
  readonly model: string;
  readonly hostName: string;
  readonly agentVersion: string;
  /** There is a credentials file that can be used. */
  readonly hasCredentials: boolean;
  /** Some were given, and are tried out with the next network. */
  readonly holdsCredentials: boolean;
  readonly isOnline: boolean;
  /** Kept over the end of the hotspot, so that it is shown when that returns. */
  readonly lastAttempt: ConnectionAttempt | undefined;
  /** Newest first, at most 10; kept until {@link ProvisioningPort.clearErrors}. */
  readonly errors: readonly string[];
}

/** The cloud that a machine belongs to, and its key there. */
export interface ChosenCredentials {
  readonly appAddress: string;
  readonly partId: string;
  /** The part's secret, or an API key. */
  readonly key: { readonly secret: string } | { readonly id: string; readonly key: string };
}

/** What was given cannot be used; the message is for the person who gave it, without secrets. */
export class ProvisioningInputError extends Error {
  override readonly name = "ProvisioningInputError";
  constructor(readonly field: "ssid" | "psk" | "credentials", message: string) {
    super(message);
  }
}

export interface ProvisioningPort {
  status(): ProvisioningStatus;
  /** Of the last scan, strongest first. */
  networks(): readonly VisibleNetwork[];
  /** Requests a new scan, where the radio can while it serves the hotspot. */
  requestScan(): void;
  /**
   * Keeps what was given until {@link commit}; a second one of a kind replaces the first.
   *
   * @throws {ProvisioningInputError} nothing is kept then.
   */
  stageNetwork(network: ChosenNetwork): void;
  /** As {@link stageNetwork}. */
  stageCredentials(credentials: ChosenCredentials): void;
  /** Ends provisioning with what was staged: the machine tries it out. */
  commit(): void;
  /** The person is still there: provisioning continues for `user_idle_minutes`. */
  userActive(): void;
  clearErrors(): void;
}
