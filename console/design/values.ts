import { localized } from "../texts/numbers.ts";

/** 12.345 → "12.35", or "12,35", with so many digits. */
export function fixed(value: number, digits: number): string {
  return localized(value.toFixed(digits));
}

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
  return `${value < 0 ? "-" : ""}${fixed(amount, digits)} ${UNITS[unit]}`;
}

/**
 * 12.345 → "12.3 %".
 *
 * @param more digits in addition
 */
export function percent(value: number, more = 0): string {
  return `${fixed(value, 1 + more)} %`;
}

/** Any reading as text; numbers with three decimals at most. */
export function plain(value: unknown): string {
  if (typeof value === "number") return localized(rounded(value));
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** A number with three decimals at most, as fields for numbers take it. */
export function rounded(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}
