import type { NetworkSettings } from "../../../shared/config/agent_fields.ts";
import {
  type ChosenCredentials,
  type ChosenNetwork,
  type ConnectionAttempt,
  ProvisioningInputError,
  type ProvisioningPort,
  type ProvisioningStatus,
  type VisibleNetwork,
} from "../../provisioning/provisioning_port.ts";
import type { ConnectFailure } from "../wifi/connect_failure.ts";
import { ssidKey } from "../wifi/visible_networks.ts";

export interface DeskOptions {
  readonly settings: () => NetworkSettings;
  readonly hostName: string;
  readonly version: string;
  readonly hasCredentials: () => boolean;
  /** Where the credentials are, for people. */
  readonly credentialsFile: string;
  readonly isOnline: () => boolean;
  readonly visible: () => readonly VisibleNetwork[];
  readonly onEvent: (event: "user-active" | "committed" | "scan") => void;
  /** Of an earlier run. */
  readonly attempt: ConnectionAttempt | undefined;
}

/** What a person gave, to be tried. */
export interface Staged {
  readonly network: ChosenNetwork | undefined;
  readonly credentials: ChosenCredentials | undefined;
}

const RESTARTED = "The machine was restarted, or lost its power, while it tried it.";
const MOST_ERRORS = 10;
const LONGEST_SSID = 32;

/**
 * Takes what people give over the portal, the API and Bluetooth, and reports to them how it went.
 */
export class ProvisioningDesk implements ProvisioningPort {
  readonly #options: DeskOptions;
  #network: ChosenNetwork | undefined;
  #credentials: ChosenCredentials | undefined;
  #attempt: ConnectionAttempt | undefined;
  #errors: string[] = [];

  constructor(options: DeskOptions) {
    this.#options = options;
    const { attempt } = options;
    this.#attempt = attempt?.result === "connecting"
      ? { ...attempt, result: "failed", failure: "other", error: RESTARTED }
      : attempt;
  }

  status(): ProvisioningStatus {
    const { settings, hostName, version, hasCredentials, isOnline } = this.#options;
    const { fragment_id, manufacturer, model } = settings();
    return {
      fragmentId: fragment_id,
      manufacturer,
      model,
      hostName,
      agentVersion: version,
      hasCredentials: hasCredentials(),
      holdsCredentials: this.#credentials !== undefined,
      isOnline: isOnline(),
      lastAttempt: this.#attempt,
      errors: [...this.#errors],
    };
  }

  networks(): readonly VisibleNetwork[] {
    return this.#options.visible();
  }

  requestScan(): void {
    this.#options.onEvent("scan");
  }

  stageNetwork(network: ChosenNetwork): void {
    const { ssid, psk } = network;
    if (ssid.length === 0 || ssid.length > LONGEST_SSID) {
      throw new ProvisioningInputError("ssid", "a network's name has 1 to 32 bytes");
    }
    const { length } = new TextEncoder().encode(psk);
    const isKey = /^[0-9a-f]{64}$/i.test(psk);
    if (length > 0 && !isKey && (length < 8 || length > 63)) {
      throw new ProvisioningInputError("psk", "a WiFi password has 8 to 63 characters");
    }
    this.#network = { ...network, ssid: ssid.slice() };
  }

  stageCredentials(credentials: ChosenCredentials): void {
    const { hasCredentials, credentialsFile } = this.#options;
    if (hasCredentials()) {
      throw new ProvisioningInputError(
        "credentials",
        `this machine has credentials already; whoever owns it removes ${credentialsFile} first`,
      );
    }
    this.#credentials = credentials;
  }

  commit(): void {
    if (this.#network) {
      this.#set(this.#network, { result: "connecting", error: undefined });
    }
    this.#options.onEvent("committed");
  }

  userActive(): void {
    this.#options.onEvent("user-active");
  }

  clearErrors(): void {
    this.#errors = [];
  }

  /** The last try, to be kept. */
  get attempt(): ConnectionAttempt | undefined {
    return this.#attempt;
  }

  /** What was staged; it is then staged no more. */
  take(): Staged {
    const staged = { network: this.#network, credentials: this.#credentials };
    this.#network = undefined;
    this.#credentials = undefined;
    return staged;
  }

  /** Nothing was staged. */
  forget(): void {
    this.take();
  }

  succeed(): void {
    if (this.#attempt) this.#attempt = { ...this.#attempt, result: "connected", error: undefined };
    this.#errors = [];
  }

  /** How it ended with a network that was connected to, or with none. */
  judge(result: "online" | "no-connection" | "no-internet" | "timeout"): void {
    switch (result) {
      case "online":
        return this.succeed();
      case "no-internet":
        return this.fail({
          kind: "no-internet",
          text: "it is connected, and reaches neither the cloud nor the internet",
        });
      case "timeout":
        return this.fail({ kind: "other", text: "it took too long" });
      case "no-connection":
        return; // Who tried it has reported why.
    }
  }

  fail({ kind, text }: ConnectFailure): void {
    const name = this.#attempt?.ssid;
    const error = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
    if (this.#attempt) {
      this.#attempt = { ...this.#attempt, result: "failed", error, failure: kind };
    }
    const line = name === undefined ? error : `${name}: ${error}`;
    this.#errors = [line, ...this.#errors].slice(0, MOST_ERRORS);
  }

  #set(network: ChosenNetwork, how: Pick<ConnectionAttempt, "result" | "error">): void {
    const key = ssidKey(network.ssid);
    const seen = this.#options.visible().find(({ ssidBytes }) => ssidKey(ssidBytes) === key);
    this.#attempt = {
      ssid: new TextDecoder().decode(network.ssid),
      security: seen?.security ?? (network.psk === "" ? "open" : "wpa2"),
      signal: seen?.signal ?? 0,
      ...how,
    };
  }
}
