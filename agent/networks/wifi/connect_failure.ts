import type { ConnectionFailure } from "../../provisioning/provisioning_port.ts";

/** Why NetworkManager did not connect. */
export interface ConnectFailure {
  readonly kind: ConnectionFailure;
  /** A clause for people: "the password is wrong". */
  readonly text: string;
}

const PASSWORD: ConnectFailure = {
  kind: "wrong-password",
  text: "the password is wrong, or the network does not let this machine in",
};
const ADDRESS: ConnectFailure = {
  kind: "no-address",
  text: "the network gave the machine no address",
};
const SHARED: ConnectFailure = {
  kind: "other",
  text: "NetworkManager could not serve addresses and names: install dnsmasq-base, and see that " +
    "no other program listens on port 53 of all addresses",
};

/** By NMDeviceStateReason. */
const REASONS: Readonly<Record<number, ConnectFailure>> = {
  2: { kind: "other", text: "the interface is in the hands of another program" },
  5: ADDRESS,
  7: PASSWORD,
  8: PASSWORD,
  9: PASSWORD,
  10: PASSWORD,
  11: PASSWORD,
  15: ADDRESS,
  16: ADDRESS,
  17: ADDRESS,
  18: SHARED,
  19: SHARED,
  35: { kind: "other", text: "its firmware is missing" },
  36: { kind: "other", text: "the interface was removed" },
  53: { kind: "not-found", text: "the network was not found" },
};

/** What a reason of NetworkManager means for people. */
export function connectFailure(reason: number): ConnectFailure {
  return REASONS[reason] ?? {
    kind: "other",
    text: `NetworkManager did not connect (reason ${reason} of its device states)`,
  };
}
