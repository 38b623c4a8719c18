/** A place on the globe: WGS 84, degrees. */
export interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

/** The place that some JSON names; undefined where that is none on the globe. */
export function placeIn(value: unknown): Place | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { latitude, longitude } = value as Readonly<Record<string, unknown>>;
  if (typeof latitude !== "number" || !(Math.abs(latitude) <= 90)) return undefined;
  if (typeof longitude !== "number" || !(Math.abs(longitude) <= 180)) return undefined;
  return { latitude, longitude };
}
