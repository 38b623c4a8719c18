/** The portal of every machine of ours on its own WiFi network. */
const PORTAL = "http://10.42.0.1/";

/**
 * A link that puts a credentials file into the form of a machine's portal. They are behind the `#`,
 * which browsers send to nobody: also where the phone is in another network, nothing leaves it.
 *
 * @param file the text of a credentials file.
 */
export function credentialsLink(file: string): string {
  const bytes = Array.from(new TextEncoder().encode(file), (byte) => String.fromCharCode(byte));
  const text = btoa(bytes.join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `${PORTAL}#credentials=${text}`;
}
