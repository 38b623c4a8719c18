import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Role } from "../../../shared/rights/roles.ts";
import type { ApiKey, ApiKeys, KeyGrant, KeyTarget } from "./api_keys.ts";
import { peopleOf } from "../people/users.ts";
import { covers, type Place } from "./caller.ts";
import { locationPath, sharesOf } from "./location_tree.ts";

/** Somebody who may open a machine. */
export interface Opener {
  readonly id: string;
  /** Of the key; that of a person fits none. */
  readonly hash: string;
  readonly role: Role;
}

/** Who may open what stands at one place: the rule of `location_tree.ts` seen from the machine. */
export class Openings {
  private constructor(
    private readonly queries: Queries,
    private readonly keys: Pick<ApiKeys, "withHashes">,
    private readonly place: Place,
    private readonly path: readonly string[],
    /** Organisations that a location of the path is shared with. */
    private readonly guests: readonly string[],
  ) {}

  static async of(
    queries: Queries,
    keys: Pick<ApiKeys, "withHashes">,
    place: Place,
  ): Promise<Openings> {
    const { locationId = "" } = place;
    const path = await locationPath(queries, locationId);
    const shares = (await sharesOf(queries, [locationId])).get(locationId) ?? [];
    const guests = [...new Set(shares.map(({ orgId }) => orgId))];
    return new Openings(queries, keys, place, path, guests);
  }

  /** API keys, with their hashes. */
  async ofKeys(): Promise<(ApiKey & Opener)[]> {
    const { orgId, machineId } = this.place;
    const within: KeyTarget[] = this.path.map((id) => ({ resource: "location", id }));
    if (machineId !== undefined) within.push({ resource: "robot", id: machineId });
    const all = await Promise.all([
      this.keys.withHashes(orgId, [whole(orgId), ...within]),
      ...this.guests.map((guest) => this.keys.withHashes(guest, [whole(guest)])),
    ]);
    return all.flat().flatMap((key) => {
      const role = this.#role(key.orgId, key.grants);
      return role ? [{ ...key, role }] : [];
    });
  }

  /**
   * People. Their hash fits no key: they come through the cloud, and it changes when one of their
   * sessions ends, which ends their connections.
   */
  async ofPeople(): Promise<Opener[]> {
    const found = new Map<string, Opener>();
    for (const orgId of [this.place.orgId, ...this.guests]) {
      for (const { id, sessionEpoch, grants } of await peopleOf(this.queries, orgId)) {
        const role = this.#role(orgId, grants);
        // Members of both organisations are what they are in the machine's own.
        if (role && !found.has(id)) found.set(id, { id, hash: `sessions ${sessionEpoch}`, role });
      }
    }
    return [...found.values()];
  }

  #role(orgId: string, grants: readonly KeyGrant[]): Role | undefined {
    if (orgId !== this.place.orgId) {
      const isMember = grants.some(({ resource, id }) =>
        resource === "organization" && id === orgId
      );
      return isMember ? "operator" : undefined;
    }
    const roles = grants.filter((grant) =>
      grant.resource === "location" ? this.path.includes(grant.id) : covers(grant, this.place)
    ).map(({ role }) => role);
    return roles.includes("owner") ? "owner" : roles[0];
  }
}

function whole(orgId: string): KeyTarget {
  return { resource: "organization", id: orgId };
}
