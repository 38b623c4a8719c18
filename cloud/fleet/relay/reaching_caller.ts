import type { Identity } from "../../../shared/cloud/auth/identity.ts";
import type { Role } from "../../../shared/rights/roles.ts";
import type { Actor } from "../../accounts/access/caller.ts";

/** What is known of a caller before anything is looked up; nodes report it to one another. */
export interface CallerFacts {
  readonly identity: Identity;
  /** Name of the part that is called. */
  readonly host: string;
  /** Where the call came from; empty: not known. */
  readonly address: string;
  /** Program that calls. */
  readonly client: string;
}

/** Looks who a caller is and what it may do. */
export interface CallerLookup {
  /** What the caller is on the part now. @throws {ConnectError} when it is nothing any more */
  look(facts: CallerFacts): Promise<{ readonly role: Role; readonly actor: Actor }>;
  /** Only whether the sign-in still counts; costs no query. @throws {ConnectError} when not */
  stands(facts: CallerFacts): Promise<void>;
}

/** A part that is reached. */
export interface ReachedPart {
  readonly id: string;
  readonly org_id: string;
}

/** The same for all connections of one caller. */
export function ownerOf({ identity }: Pick<CallerFacts, "identity">): string {
  return `${identity.credentialType} ${identity.entity}`;
}
