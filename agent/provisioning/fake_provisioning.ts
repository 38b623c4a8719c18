import {
  type ChosenCredentials,
  type ChosenNetwork,
  type ConnectionAttempt,
  ProvisioningInputError,
  type ProvisioningPort,
  type ProvisioningStatus,
  type VisibleNetwork,
} from "./provisioning_port.ts";

/** A machine that a test sets up. It keeps what it is given. */
export class FakeProvisioning implements ProvisioningPort {
  given: Partial<ProvisioningStatus> = {};
  visible: VisibleNetwork[] = [];
  attempt: ConnectionAttempt | undefined;
  errors: string[] = [];
  network: ChosenNetwork | undefined;
  credentials: ChosenCredentials | undefined;
  commits = 0;
  scans = 0;
  active = 0;

  status(): ProvisioningStatus {
    return {
      fragmentId: "fragment-1",
      manufacturer: "Acme",
      model: "Rover <2>",
      hostName: "rover-7",
      agentVersion: "1.2.3",
      hasCredentials: true,
      holdsCredentials: false,
      isOnline: false,
      lastAttempt: this.attempt,
      errors: [...this.errors],
      ...this.given,
    };
  }

  networks(): readonly VisibleNetwork[] {
    return this.visible;
  }

  requestScan(): void {
    this.scans++;
  }

  stageNetwork(network: ChosenNetwork): void {
    const { psk } = network;
    if (psk !== "" && psk.length < 8) {
      throw new ProvisioningInputError("psk", "the password has fewer than 8 characters");
    }
    this.network = network;
  }

  stageCredentials(credentials: ChosenCredentials): void {
    this.credentials = credentials;
  }

  commit(): void {
    this.commits++;
  }

  userActive(): void {
    this.active++;
  }

  clearErrors(): void {
    this.errors = [];
  }
}

/** A network that the scan found. */
export function visibleNetwork(
  name: string | Uint8Array,
  rest: Partial<VisibleNetwork> = {},
): VisibleNetwork {
  const ssidBytes = typeof name === "string" ? new TextEncoder().encode(name) : name;
  return {
    ssid: new TextDecoder().decode(ssidBytes),
    ssidBytes,
    security: "wpa2",
    signal: 70,
    isKnown: false,
    ...rest,
  };
}
