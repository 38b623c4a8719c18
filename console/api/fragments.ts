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
