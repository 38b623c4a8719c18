const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/**
 * 1536000000 → "1.54 GB".
 *
 * @param more digits in addition
 */
export function bytes(value: number, more = 0): string {
  let amount = Math.abs(value);
  let unit = 0;
  while (amount >= 1000 && unit < UNITS.length - 1) {
    amount /= 1000;
    unit++;
  }
  const digits = unit === 0 ? 0 : (amount >= 100 ? 0 : amount >= 10 ? 1 : 2) + more;
  return `${value < 0 ? "-" : ""}${amount.toFixed(digits)} ${UNITS[unit]}`;
}

/**
 * 12.345 → "12.3 %".
 *
 * @param more digits in addition
 */
export function percent(value: number, more = 0): string {
  return `${value.toFixed(1 + more)} %`;
}

/** Any reading as text; numbers with three decimals at most. */
export function plain(value: unknown): string {
  if (typeof value === "number") return String(Math.round(value * 1000) / 1000);
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}
