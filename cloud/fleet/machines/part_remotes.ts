import { create } from "@bufbuild/protobuf";
import {
  CredentialsType,
  type RemoteConfig,
  RemoteConfigSchema,
} from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { PartRow } from "../../accounts/access/scope.ts";
import { hostNames } from "../../api/addresses/host_names.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { compiledQuery } from "../../storage/database/compiled.ts";

/**
 * The other parts of a machine, as its main part sees them: remotes by the parts' names, reached at
 * their host names with the secret of the location. A main part that may not have it calls them
 * through the cloud as itself. Other parts see none.
 *
 * @param taken names of remotes that the configuration has itself: those stay
 */
export async function partRemotes(
  queries: Queries,
  part: PartRow,
  options: {
    readonly domain: string;
    /** Undefined for a part that may not have it. */
    readonly locationSecret: string | undefined;
    readonly taken: ReadonlySet<string>;
  },
): Promise<RemoteConfig[]> {
  if (part.is_main !== 1) return [];
  const parts = await partsOfMachine(queries, part.machine_id);
  const others = parts.filter(({ id, name }) => id !== part.id && !options.taken.has(name));
  return others.map((other) => {
    const { fqdn } = hostNames(other.dns_label, other.location_id, options.domain);
    return create(RemoteConfigSchema, {
      name: other.name,
      address: fqdn,
      ...(options.locationSecret !== undefined && {
        auth: {
          entity: fqdn,
          credentials: {
            type: CredentialsType.ROBOT_LOCATION_SECRET,
            payload: options.locationSecret,
          },
        },
      }),
    });
  });
}

const partsOfMachine = compiledQuery((queries, machineId) =>
  queries.selectFrom("parts").select(["id", "name", "dns_label", "location_id"])
    .where("machine_id", "=", machineId).orderBy("name")
);
