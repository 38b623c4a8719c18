import { type Language, LANGUAGES, type Text } from "../../shared/rpc/reason_texts.ts";
import { withClosedDirections } from "../../shared/rpc/directions.ts";

export { type Language, LANGUAGES, type Text };

/** The texts of a page. */
export type Texts = Readonly<Record<string, Text>>;

/** What fills the places of a text. */
export type Values = Readonly<Record<string, string | number>>;

/**
 * Fills the places of a text: `{name}` by a value, `{n|machine|machines}` by one of two words,
 * depending on a number.
 */
export function fill(text: string, values: Values, locale: string): string {
  return text.replaceAll(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (place, name, one, many) => {
    const value = values[name];
    if (value === undefined) return place;
    if (one !== undefined) return Number(value) === 1 ? one : many;
    if (typeof value === "number") return value.toLocaleString(locale);
    return withClosedDirections(value);
  });
}
