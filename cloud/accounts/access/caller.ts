import { type Action, type Role, roleAllows } from "../../../shared/rights/roles.ts";
import type { ActorType, ResourceType } from "../../storage/database/schema.ts";

/** Who acts, as history names it. */
export interface Actor {
  readonly type: ActorType;
  /** Id of the API key, the part or the location; the e-mail address of a person. */
  readonly id: string;
}

/** One thing that a caller may act on. `self` is what a part may do with itself. */
export type Grant =
  & (
    | { readonly role: Role; readonly resource: ResourceType; readonly id: string }
    | { readonly role: "self"; readonly resource: "part"; readonly id: string }
  )
  & {
    /** The organisation in which the thing stands; left out: that of the caller. */
    readonly orgId?: string;
    /** Only for a location that `orgId` shares with this organisation of the caller. */
    readonly sharedWith?: string;
  };

/**
 * What the key of a training job may do in place of grants: read the files of its dataset, the job
 * and its log, and upload versions of its model. No keys, secrets, machines or other data.
 */
export interface TrainingRights {
  readonly jobId: string;
  readonly datasetId: string;
  /** Name of the package of type `ml_model`. */
  readonly modelName: string;
}

/** What only people have. */
export interface Person {
  readonly userId: string;
  readonly sessionId: string;
  /** When the session expires, milliseconds since 1970. */
  readonly expiresAtMs: number;
}

/** An authenticated caller, and what the caller may do. */
export interface Caller {
  readonly actor: Actor;
  /**
   * The caller's organisation. People may have grants in several, each of which says where; theirs
   * is the one they joined first here, and empty for those who have none.
   */
  readonly orgId: string;
  readonly person?: Person | undefined;
  readonly grants: readonly Grant[];
  /** Only for the key of a training job, which has no grants. */
  readonly training?: TrainingRights | undefined;
}

/** Where a thing stands in the tree; the levels below it are left out. */
export interface Place {
  readonly orgId: string;
  readonly locationId?: string | undefined;
  readonly machineId?: string | undefined;
  readonly partId?: string | undefined;
}

/** The caller's grants whose role covers an action. */
export function grantsFor(caller: Caller, action: Action): readonly Grant[] {
  return caller.grants.filter((grant) => roleAllows(grant.role, action));
}

/** The organisation that a grant counts in, whatever it names. */
export function organizationOf(caller: Caller, grant: Grant): string {
  return grant.orgId ?? caller.orgId;
}

/** The organisations that a caller belongs to. Those that only share a location are none of them. */
export function organizationsOf(caller: Caller): string[] {
  const own = caller.grants.filter((grant) => grant.sharedWith === undefined);
  return [...new Set(own.map((grant) => organizationOf(caller, grant)))];
}

/** The organisations in which a caller may see something, those that share a location included. */
export function organizationsReached(caller: Caller): string[] {
  return [...new Set(caller.grants.map((grant) => organizationOf(caller, grant)))];
}

/** The locations of others that are shared with an organisation of the caller. */
export function locationsSharedWith(caller: Caller, orgId: string): string[] {
  return caller.grants.filter((grant) => grant.sharedWith === orgId).map(({ id }) => id);
}

/** Whether a caller may do something with the thing at a place. */
export function allows(caller: Caller, action: Action, place: Place): boolean {
  return grantsFor(caller, action).some((grant) =>
    organizationOf(caller, grant) === place.orgId && covers(grant, place)
  );
}

/** Whether what a grant is for holds the thing at a place, or is that thing. */
export function covers(grant: Pick<Grant, "resource" | "id">, place: Place): boolean {
  switch (grant.resource) {
    case "organization":
      return grant.id === place.orgId;
    case "location":
      return grant.id === place.locationId;
    case "robot":
      return grant.id === place.machineId;
    case "part":
      return grant.id === place.partId;
  }
}

/** What a caller is on the machine at a place: its own part's secret counts as its owner's. */
export function roleAt(caller: Caller, place: Place): Role | undefined {
  if (allows(caller, "manage", place) || allows(caller, "report", place)) return "owner";
  return allows(caller, "operate", place) ? "operator" : undefined;
}
