import { readCredentials } from "../../../micro/core/cloud/credentials.ts";

/** What a device has in its flash before its first start. */
export interface DeviceOptions {
  /** File with the machine's credentials. */
  readonly credentials: string;
  /** File with authorities in PEM form. */
  readonly caFile?: string | undefined;
  /** Whether its port is without TLS. */
  readonly noTls?: boolean | undefined;
}

/**
 * Values of flash by key.
 *
 * @throws Error when the credentials are none, or need authorities that are not given
 */
export async function deviceValues(
  { credentials, caFile, noTls = false }: DeviceOptions,
): Promise<Record<string, Uint8Array>> {
  const text = await Deno.readTextFile(credentials);
  if (readCredentials(text).origin.tls && caFile === undefined) {
    throw new Error("the device needs the certificate authority of its cloud: CA_FILE=");
  }
  const encode = (text: string) => new TextEncoder().encode(text);
  return {
    credentials: encode(text),
    ...(noTls ? { "no-tls": encode("1") } : {}),
    ...(caFile === undefined ? {} : { roots: encode(await Deno.readTextFile(caFile)) }),
  };
}
