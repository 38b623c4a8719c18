/** Where the console's map of the fleet gets its tiles from. */
export interface MapTiles {
  /** `https://HOST/{z}/{x}/{y}.png`, Web Mercator. */
  readonly urlTemplate: string;
  /** Who made them, as the map has to say; empty: nobody asks for it. */
  readonly attribution: string;
}

/**
 * The origin that browsers load tiles from, for the policy of the pages. Undefined for a template
 * that is no address of http or https with `{x}`, `{y}` and `{z}` in its path or query.
 */
export function tileOrigin(urlTemplate: string): string | undefined {
  if (!["{x}", "{y}", "{z}"].every((place) => urlTemplate.includes(place))) return undefined;
  const url = URL.parse(urlTemplate);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "") return undefined;
  // A policy ends at these; a placeholder in the host would need more than one origin.
  return /[{};,\s%'"]/.test(url.origin) ? undefined : url.origin;
}
