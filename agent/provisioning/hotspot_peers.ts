import type { ConnectionEnds } from "../../shared/rpc/server/edge.ts";

/**
 * Lets in only who is on the hotspot. A socket of the hotspot's address alone does not: Linux
 * answers for an address on every interface, so that a neighbour on a wired network could reach it.
 *
 * @param address of the machine on its hotspot; the hotspot has its first 24 bits.
 * @returns for `admit` of an edge: why somebody is not let in.
 */
export function onlyFromHotspot(
  address: string,
): (ends: Pick<ConnectionEnds, "remoteAddress">) => string | undefined {
  const network = address.slice(0, address.lastIndexOf(".") + 1);
  return ({ remoteAddress }) =>
    remoteAddress.startsWith(network) ? undefined : "it does not come from the hotspot";
}
