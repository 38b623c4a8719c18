import { Buffer } from "node:buffer";

/** The portal of every machine of ours on its own WiFi network. */
const PORTAL = "http://10.42.0.1/";
const NAME = "credentials";

/**
 * A link that puts a credentials file into the form of a machine's portal. They are behind the `#`,
 * which browsers send to nobody: also where the phone is in another network, nothing leaves it.
 *
 * @param file as in a credentials file.
 */
export function credentialsLink(file: Readonly<Record<string, unknown>>): string {
  return `${PORTAL}#${NAME}=${Buffer.from(JSON.stringify(file)).toString("base64url")}`;
}
