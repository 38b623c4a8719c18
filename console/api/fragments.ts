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

/**
 * Puts a fragment behind those that a part includes; a part that includes it already stays as it is.
 *
 * @param version revision or tag; left out: the newest
 */
export async function includeFragment(
  partId: string,
  fragmentId: string,
  version?: string,
): Promise<void> {
  const { part } = await app.getRobotPart({ id: partId });
  const config = part?.robotConfig ?? {};
  const there = Array.isArray(config.fragments) ? config.fragments : [];
  const idOf = (entry: unknown) =>
    typeof entry === "object" && entry !== null && "id" in entry ? entry.id : entry;
  if (!part || there.some((entry) => idOf(entry) === fragmentId)) return;
  const entry = { id: fragmentId, ...(version === undefined ? {} : { version }) };
  await app.updateRobotPart({
    id: part.id,
    robotConfig: { ...config, fragments: [...there, entry] },
    ...(part.lastUpdated ? { lastKnownUpdate: part.lastUpdated } : {}),
  });
}
