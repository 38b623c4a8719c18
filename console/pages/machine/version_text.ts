const FROM_ADDRESS = "customURL+";

/** A version as people read it: of a program from an address its owner named, the address or file. */
export function versionText(version: string): string {
  if (!version.startsWith(FROM_ADDRESS)) return version;
  const address = version.slice(FROM_ADDRESS.length);
  const url = URL.parse(address);
  if (url?.protocol !== "file:") return address;
  try {
    return decodeURIComponent(url.pathname);
  } catch {
    return url.pathname;
  }
}
