/** Readings of sensors as text for people. */
import { listSeparator, localized } from "../texts/numbers.ts";
import { bytes, plain } from "./values.ts";

/** A reading that is taken apart. */
export interface ReadableReading {
  readonly text: string;
  /** What JSON would say, where `text` leaves something out; for a tooltip. */
  readonly raw?: string;
}

type Entries = Readonly<Record<string, unknown>>;

/** What a movement sensor's readings are measured in, by their names. */
const UNITS: Readonly<Record<string, string>> = {
  altitude: "m",
  compass: "°",
  linear_velocity: "m/s",
  linear_acceleration: "m/s²",
  angular_velocity: "°/s",
};

/** Names of readings that count bytes, and bytes a second. */
const BYTES = /(?:^|_)bytes(_per_second)?$/;

/** How long a list or map may be to be written out. */
const MOST_PARTS = 8;
const PLACE_DIGITS = 6;

/**
 * A reading as people write it: places with latitude and longitude, vectors and orientations by
 * their parts, bytes with a unit, and small lists and maps without brackets. The rest is JSON.
 *
 * @param all the readings that it comes with: names have units where they are a movement sensor's
 */
export function readable(name: string, value: unknown, all: Entries = {}): ReadableReading {
  const text = readableText(name, value, all);
  if (typeof value === "number" && BYTES.test(name)) return { text, raw: plain(value) };
  return typeof value === "object" && value !== null ? { text, raw: plain(value) } : { text };
}

function readableText(name: string, value: unknown, all: Entries): string {
  const unit = isOfMovement(all) ? UNITS[name] : undefined;
  const measured = (text: string): string =>
    unit === undefined ? text : unit === "°" ? text + unit : `${text} ${unit}`;
  const amount = BYTES.exec(name);
  if (typeof value === "number" && amount) return bytes(value) + (amount[1] ? "/s" : "");
  if (typeof value === "number") return measured(plain(value));
  if (Array.isArray(value)) return listText(value);
  const entries = entriesOf(value);
  if (!entries) return plain(value);
  const { _type: kind, ...parts } = entries;
  const numbers = Object.entries(parts).every(([, part]) => typeof part === "number");
  if (kind === "geopoint" && numbers && "lat" in parts && "lng" in parts) {
    const [lat, lng] = [Number(parts.lat), Number(parts.lng)];
    return [degrees(lat, "N", "S"), degrees(lng, "E", "W")].join(listSeparator());
  }
  if (kind === "orientation_vector_degrees" && numbers) {
    const { theta, ...axis } = parts;
    return [partsText(axis), ...(theta === undefined ? [] : [`θ ${plain(theta)}°`])].join(" · ");
  }
  const isFlat = Object.values(parts).every((part) => typeof part !== "object" || part === null);
  if (!isFlat || Object.keys(parts).length > MOST_PARTS) return plain(value);
  if (Object.keys(parts).length === 0) return "–";
  return measured(partsText(parts));
}

/** `x 1 · y 2`. */
function partsText(parts: Entries): string {
  return Object.entries(parts).map(([name, part]) => `${name} ${plain(part)}`).join(" · ");
}

function listText(list: readonly unknown[]): string {
  if (list.length === 0) return "–";
  const isFlat = list.every((each) => typeof each !== "object" || each === null);
  return isFlat && list.length <= MOST_PARTS ? list.map(plain).join(listSeparator()) : plain(list);
}

/** `48.137154° N`; as many digits as tell a tenth of a metre. */
function degrees(value: number, positive: string, negative: string): string {
  const size = String(Number(Math.abs(value).toFixed(PLACE_DIGITS)));
  return `${localized(size)}° ${value < 0 ? negative : positive}`;
}

/** Readings of the kinds that only movement sensors have. */
function isOfMovement(all: Entries): boolean {
  return Object.values(all).some((value) => {
    const kind = entriesOf(value)?._type;
    return kind === "geopoint" || kind === "vector3" || kind === "angular_velocity";
  });
}

function entriesOf(value: unknown): Entries | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Entries
    : undefined;
}
