/** Who may open the machine, as the cloud reports it. */
import {
  KeyRole,
  type ListAccessKeysResponse,
} from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { HashedKey } from "./access_rules.ts";

export interface CloudAccess {
  /** API keys, by id. */
  readonly keys: ReadonlyMap<string, HashedKey>;
  /** Hashes of the part's secrets. */
  readonly partSecrets: readonly string[];
  /** Hashes of the location's secrets. */
  readonly locationSecrets: readonly string[];
}

/** What is known of a cloud that reports nothing, or has not yet. */
export const NO_CLOUD_ACCESS: CloudAccess = {
  keys: new Map(),
  partSecrets: [],
  locationSecrets: [],
};

export function cloudAccess(answer: ListAccessKeysResponse): CloudAccess {
  return {
    keys: new Map(answer.keys.map(({ id, hash, role }) => [
      id,
      { hash, role: role === KeyRole.OWNER ? "owner" : "operator" },
    ])),
    partSecrets: answer.partSecrets.map(({ hash }) => hash),
    locationSecrets: answer.locationSecrets.map(({ hash }) => hash),
  };
}

/** Whether the cloud has reported anybody. */
export function isEmpty({ keys, partSecrets, locationSecrets }: CloudAccess): boolean {
  return keys.size + partSecrets.length + locationSecrets.length === 0;
}

export function sameAccess(a: CloudAccess, b: CloudAccess): boolean {
  return sameList(a.partSecrets, b.partSecrets) && sameList(a.locationSecrets, b.locationSecrets) &&
    a.keys.size === b.keys.size &&
    [...a.keys].every(([id, { hash, role }]) => {
      const other = b.keys.get(id);
      return other?.hash === hash && other.role === role;
    });
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((hash) => b.includes(hash));
}
