/** Sentences of GPS receivers (NMEA 0183). */

/** What sentences have said so far. */
export interface Fix {
  /** Degrees; undefined without a fix. */
  readonly latitude?: number | undefined;
  readonly longitude?: number | undefined;
  /** Metres over the sea. */
  readonly altitude?: number | undefined;
  /** 0: none, 1: GPS, 2: differential, 4: RTK fixed, 5: RTK float. */
  readonly quality?: number | undefined;
  readonly satellites?: number | undefined;
  readonly hdop?: number | undefined;
  readonly vdop?: number | undefined;
  /** m/s over ground. */
  readonly speed?: number | undefined;
  /** Degrees over ground, clockwise from north. */
  readonly course?: number | undefined;
  /** Degrees that the vehicle points to, of receivers with two antennas. */
  readonly heading?: number | undefined;
}

const METERS_PER_SECOND_OF_KNOT = 1_852 / 3_600;
/** A sentence has 82 characters; some receivers send longer ones. */
const LONGEST = 256;

/** Sentences out of bytes as they come; what is none is counted. */
export class Sentences {
  #rest = "";
  /** Pieces that were no sentence, or whose checksum was wrong. */
  bad = 0;

  /** @returns whole sentences whose checksum is right, without `$` and checksum. */
  take(bytes: Uint8Array): string[] {
    const text = this.#rest + String.fromCharCode(...bytes);
    const lines = text.split(/[\r\n]+/);
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > LONGEST) {
      this.#rest = "";
      this.bad++;
    }
    return lines.flatMap((line) => {
      if (line === "") return [];
      const body = checked(line);
      if (body === undefined) this.bad++;
      return body ?? [];
    });
  }
}

function checked(line: string): string | undefined {
  const [, body, sum] = /^\$([ -)+-~]{5,250})\*([0-9A-Fa-f]{2})$/.exec(line) ?? [];
  if (body === undefined) return undefined;
  return checksum(body) === sum!.toUpperCase() ? body : undefined;
}

/** Two hexadecimal digits. */
export function checksum(body: string): string {
  let sum = 0;
  for (let at = 0; at < body.length; at++) sum ^= body.charCodeAt(at);
  return sum.toString(16).padStart(2, "0").toUpperCase();
}

/** What a sentence changes; undefined when it says nothing that is used here. */
export function readSentence(sentence: string): Fix | undefined {
  const fields = sentence.split(",");
  const at = (index: number) => numberOf(fields[index]);
  switch (fields[0]?.slice(2)) {
    case "GGA": {
      const quality = at(6) ?? 0;
      return {
        ...(quality > 0 ? place(fields, 2) : NOWHERE),
        quality,
        satellites: at(7),
        hdop: at(8),
        altitude: quality > 0 ? at(9) : undefined,
      };
    }
    case "RMC": {
      const knots = at(7);
      return {
        ...(fields[2] === "A" ? place(fields, 3) : NOWHERE),
        speed: knots === undefined ? undefined : knots * METERS_PER_SECOND_OF_KNOT,
        course: at(8),
      };
    }
    case "GSA":
      return { hdop: at(16), vdop: at(17) };
    case "HDT":
      return { heading: at(1) };
  }
}

const NOWHERE = { latitude: undefined, longitude: undefined } as const;

/** Degrees and minutes in one number, with their letter after it. */
function place(fields: readonly string[], index: number) {
  const degrees = (value: string | undefined, negative: string, sign: string | undefined) => {
    const number = numberOf(value);
    if (number === undefined) return undefined;
    const whole = Math.floor(number / 100);
    return (whole + (number - whole * 100) / 60) * (sign === negative ? -1 : 1);
  };
  const latitude = degrees(fields[index], "S", fields[index + 1]);
  const longitude = degrees(fields[index + 2], "W", fields[index + 3]);
  const isPlace = latitude !== undefined && longitude !== undefined &&
    Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180;
  return isPlace ? { latitude, longitude } : NOWHERE;
}

function numberOf(field: string | undefined): number | undefined {
  if (field === undefined || !/^-?\d+(\.\d*)?$/.test(field)) return undefined;
  return Number(field);
}
