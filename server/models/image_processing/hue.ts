/** A colour as hue (0 to 1, red at 0), saturation and value (both 0 to 1). */
export type Hsv = readonly [hue: number, saturation: number, value: number];

/** @param red, green, blue from 0 to 255. */
export function hsvOf(red: number, green: number, blue: number): Hsv {
  const most = Math.max(red, green, blue);
  const spread = most - Math.min(red, green, blue);
  if (spread === 0) return [0, 0, most / 255];
  const sixth = most === red
    ? ((green - blue) / spread + 6) % 6
    : most === green
    ? (blue - red) / spread + 2
    : (red - green) / spread + 4;
  return [sixth / 6, spread / most, most / 255];
}

const NAMES = [
  ...["red", "orange", "yellow", "yellow-green", "green", "spring-green"],
  ...["cyan", "azure", "blue", "violet", "magenta", "rose"],
];

/** What a hue is called: one of twelve. */
export function hueName(hue: number): string {
  return NAMES[Math.round(hue * NAMES.length) % NAMES.length] ?? "red";
}
