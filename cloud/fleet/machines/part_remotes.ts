import { create } from "@bufbuild/protobuf";
import {
  CredentialsType,
  type RemoteConfig,
  RemoteConfigSchema,
} from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { PartRow } from "../../accounts/access/scope.ts";
import { hostNames } from "../../api/addresses/host_names.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";

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
  const others = await queries.selectFrom("parts").selectAll()
    .where("machine_id", "=", part.machine_id).where("id", "!=", part.id)
    .orderBy("name").execute();
  return others.filter(({ name }) => !options.taken.has(name)).map((other) => {
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
