import { app } from "./clients.ts";
import { FragmentVisibility } from "../../shared/gen/viam/app/v1/app_pb.ts";

/** The request to ListFragments for those that machines of an organisation may include. */
export function usableFragments(organizationId: string) {
  return {
    organizationId,
    showPublic: true,
    fragmentVisibility: [
      FragmentVisibility.PRIVATE,
      FragmentVisibility.PUBLIC,
      FragmentVisibility.PUBLIC_UNLISTED,
    ],
  };
}

/** The fragments that a part's own configuration includes, by id. */
export async function includedFragments(partId: string): Promise<ReadonlySet<string>> {
  const { part } = await app.getRobotPart({ id: partId });
  return idsIn(part?.robotConfig?.fragments);
}

function idsIn(fragments: unknown): ReadonlySet<string> {
  const ids = (Array.isArray(fragments) ? fragments : []).map((entry: unknown) =>
    typeof entry === "object" && entry !== null && "id" in entry ? entry.id : entry
  );
  return new Set(ids.filter((id) => typeof id === "string"));
}

/**
 * Puts a fragment behind those that a part includes; a part that includes it already stays as it is.
 *
 * @param version revision or tag; left out: the newest
 * @returns whether it was not there before
 */
export async function includeFragment(
  partId: string,
  fragmentId: string,
  version?: string,
): Promise<boolean> {
  const { part } = await app.getRobotPart({ id: partId });
  const config = part?.robotConfig ?? {};
  const there = Array.isArray(config.fragments) ? config.fragments : [];
  if (!part || idsIn(there).has(fragmentId)) return false;
  const entry = { id: fragmentId, ...(version === undefined ? {} : { version }) };
  await app.updateRobotPart({
    id: part.id,
    robotConfig: { ...config, fragments: [...there, entry] },
    ...(part.lastUpdated ? { lastKnownUpdate: part.lastUpdated } : {}),
  });
  return true;
}
