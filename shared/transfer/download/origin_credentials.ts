import type { CloudCredentials } from "../../cloud/auth/cloud_credentials.ts";

/**
 * Headers by which a part of a machine shows to the cloud's HTTP side who it is. Every other origin
 * gets none: files may lie in stores of others.
 *
 * @param address `https://host:port` of the cloud.
 */
export function originCredentials(
  address: string,
  { type, entity, payload }: CloudCredentials,
): (url: URL) => Readonly<Record<string, string>> {
  const { origin } = new URL(address);
  return (url) => {
    if (url.origin !== origin) return {};
    return type === "api-key"
      ? { key_id: entity, key: payload.reveal() }
      : { part_id: entity, secret: payload.reveal() };
  };
}
