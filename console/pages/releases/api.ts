import { createClient } from "@connectrpc/connect";
import { ReleaseService } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { transport } from "../../api/session.svelte.ts";

/** Releases and their rollouts. */
export const releaseApi = createClient(ReleaseService, transport);

/** `machine-server 1.2.3`: what a release is called, and its key. */
export function releaseName(
  { binary, version }: { readonly binary: string; readonly version: string },
): string {
  return `${binary} ${version}`;
}
