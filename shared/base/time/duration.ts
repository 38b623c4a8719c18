// Units in nanoseconds, as in the Go text form that the configuration uses.
const UNIT_NS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  "µs": 1e3, // U+00B5 micro sign
  "μs": 1e3, // U+03BC Greek mu
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};

const NS_PER_MS = 1e6;
// Go durations are signed 64-bit nanoseconds.
const LONGEST_NS = 2 ** 63;
const PART = /(\d+\.?\d*|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y;

/** A text that is not a duration; the message quotes it and shows the form. */
class DurationError extends Error {
  override readonly name = "DurationError";
}

/**
 * Reads a duration in Go's text form ("1h20m", "1.5s", "-300ms", "0") as milliseconds.
 *
 * @throws {DurationError}
 */
export function parseGoDuration(text: string): number {
  const sign = text.startsWith("-") ? -1 : 1;
  const body = /^[+-]/.test(text) ? text.slice(1) : text;
  if (body === "0") return 0;
  let ns = 0;
  let position = 0;
  while (position < body.length) {
    PART.lastIndex = position;
    const match = PART.exec(body);
    if (!match) throw notADuration(text);
    ns += Number(match[1]) * (UNIT_NS[match[2] ?? ""] ?? NaN);
    position = PART.lastIndex;
  }
  if (body === "") throw notADuration(text);
  if (ns >= LONGEST_NS) {
    throw new DurationError(`duration ${JSON.stringify(text)} is longer than 2562047h (292 years)`);
  }
  return ns === 0 ? 0 : sign * ns / NS_PER_MS;
}

/** Writes milliseconds in Go's text form: 4800000 is "1h20m0s", 1.5 is "1.5ms", 0 is "0s". */
export function formatGoDuration(ms: number): string {
  const ns = Math.round(Math.abs(ms) * NS_PER_MS);
  const sign = ms < 0 && ns > 0 ? "-" : "";
  if (ns === 0) return "0s";
  if (ns < 1e3) return `${sign}${ns}ns`;
  if (ns < 1e6) return `${sign}${decimal(ns, 1e3)}µs`;
  if (ns < 1e9) return `${sign}${decimal(ns, 1e6)}ms`;
  const minutes = Math.floor(ns / 60e9);
  const seconds = `${decimal(ns - minutes * 60e9, 1e9)}s`;
  if (minutes === 0) return sign + seconds;
  const hours = Math.floor(minutes / 60);
  return `${sign}${hours > 0 ? `${hours}h` : ""}${minutes % 60}m${seconds}`;
}

/** `value / unit` without float noise, as many decimals as needed. */
function decimal(value: number, unit: number): string {
  const whole = Math.floor(value / unit);
  const digits = String(Math.log10(unit));
  const fraction = String(value % unit).padStart(Number(digits), "0").replace(/0+$/, "");
  return fraction === "" ? `${whole}` : `${whole}.${fraction}`;
}

function notADuration(text: string): DurationError {
  return new DurationError(
    `${
      JSON.stringify(text)
    } is not a duration; write a number with a unit (ns, us, ms, s, m, h), for example "1h20m" or "1.5s"`,
  );
}
