import type { ConnectionFailure } from "../provisioning_port.ts";

/** Why a form was not taken. */
export type FormProblem =
  | "old-page"
  | "no-network"
  | "name-length"
  | "password-missing"
  | "password-length"
  | "unsupported-security"
  | "credentials-missing"
  | "credentials-wrong"
  | "busy"
  | "too-large"
  | "unreadable";

/** Everything that the portal says, in one language. Plain texts, which are escaped where they go. */
export interface Messages {
  /** ISO 639-1. */
  readonly language: string;
  readonly title: (machine: string) => string;
  readonly intro: string;
  readonly network: string;
  readonly searchAgain: string;
  readonly noNetworks: string;
  readonly moreNetworks: (left: number) => string;
  readonly otherNetwork: string;
  readonly otherName: string;
  readonly keepConnection: string;
  readonly open: string;
  readonly enterprise: string;
  readonly wep: string;
  readonly known: string;
  /** From weak to strong. */
  readonly strength: readonly [string, string, string, string];
  readonly password: string;
  readonly show: string;
  readonly hide: string;
  readonly credentials: string;
  readonly credentialsHelp: string;
  /** They were given, and not tried out yet. */
  readonly credentialsHeld: string;
  readonly credentialsFile: string;
  readonly connect: string;
  readonly problemTitle: string;
  readonly failedTitle: (network: string) => string;
  readonly failures: Readonly<Record<ConnectionFailure, string>>;
  readonly problems: Readonly<Record<FormProblem, string>>;
  /** Before words that are there in English only. */
  readonly detail: string;
  readonly tryingTitle: string;
  readonly trying: (network: string | undefined) => string;
  readonly pageGoesAway: (hotspot: string) => string;
  readonly ifItWorks: string;
  readonly ifItFails: (hotspot: string) => string;
  readonly lookAgain: string;
  /** The script cannot reach the machine any more. */
  readonly gone: (hotspot: string) => string;
  readonly connectedTitle: string;
  readonly connected: (network: string) => string;
  readonly stillMissing: string;
  readonly notFound: string;
}
