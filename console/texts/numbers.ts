/** How numbers are written in the language of the page. */
let point = ".";

/** From now on numbers are written as in a language; at first as in English. */
export function writeNumbersIn(locale: string): void {
  point = new Intl.NumberFormat(locale).formatToParts(0.5)
    .find(({ type }) => type === "decimal")?.value ?? ".";
}

/** A number as text, with the decimal point of the language. */
export function localized(number: string): string {
  return number.replace(".", point);
}

/** What stands between the parts of a list: not what stands within a number. */
export function listSeparator(): string {
  return point === "," ? "; " : ", ";
}
