/** Where a machine waits for the calls that its cloud passes on. Pure. */
import type { CloudBlock } from "../../../shared/config/cloud_block.ts";
import { isLoopbackHost } from "../../../shared/base/net/loopback.ts";

/**
 * `cloud.signaling_address` as a URL; without one, the cloud's own address. A signaller on loopback
 * is this host's only where the cloud is: elsewhere it comes from a cloud that never knew
 * its public address.
 *
 * @param appAddress `https://host:port` or `http://host:port`
 */
export function signalingAddress(
  { signaling_address: address, signaling_insecure: isInsecure }: CloudBlock,
  appAddress: string,
): string {
  const app = new URL(appAddress);
  if (!address) return appAddress;
  const written = /^https?:\/\//.test(address)
    ? address
    : `${isInsecure ? "http" : "https"}://${address}`;
  if (!URL.canParse(written)) return appAddress;
  const url = new URL(written);
  if (isLoopbackHost(url.hostname) && !isLoopbackHost(app.hostname)) return appAddress;
  return url.origin === app.origin ? appAddress : url.origin;
}

/** The names a machine answers to, at most as many as signallers take. */
export function answeredNames({ fqdn, local_fqdn: localFqdn }: CloudBlock): string[] {
  return [...new Set([fqdn, localFqdn])].filter((name): name is string => !!name);
}
