import type { JsonObject } from "@bufbuild/protobuf";

/** Where a machine is: WGS 84, degrees. */
export interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

/** Reads "48.137, 11.575"; "none" for an empty text, undefined for what is no place on the globe. */
export function positionIn(text: string): Position | "none" | undefined {
  if (text.trim() === "") return "none";
  const pieces = text.split(",").map((piece) => piece.trim());
  const [latitude = NaN, longitude = NaN] = pieces.map((piece) =>
    piece === "" ? NaN : Number(piece)
  );
  if (pieces.length !== 2) return undefined;
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180
    ? { latitude, longitude }
    : undefined;
}

/** What of a machine's metadata is a position, as the field shows it; empty: nothing is. */
export function positionText(metadata: unknown): string {
  if (typeof metadata !== "object" || metadata === null) return "";
  const { latitude, longitude } = metadata as Readonly<Record<string, unknown>>;
  return typeof latitude === "number" && typeof longitude === "number"
    ? `${latitude}, ${longitude}`
    : "";
}

/** Metadata with another position. What is there and is no position stays until one is entered. */
export function withPosition(metadata: JsonObject, place: Position | "none"): JsonObject {
  if (place !== "none") return { ...metadata, position: { ...place } };
  if (positionText(metadata.position) === "") return metadata;
  const { position: _, ...others } = metadata;
  return others;
}
