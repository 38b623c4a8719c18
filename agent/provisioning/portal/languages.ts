import { english } from "./english.ts";
import { german } from "./german.ts";
import type { Messages } from "./messages.ts";

/** The first is used where a browser wants none of them. */
const CATALOGUES: readonly Messages[] = [english, german];
/** Longer ones are not read; those of browsers have some 40 characters. */
const MOST_CHARACTERS = 500;

/**
 * The language that a browser likes best of those that there are.
 *
 * @param accepted the header Accept-Language, RFC 9110 12.5.4.
 */
export function messagesFor(accepted: string | null): Messages {
  const wanted = (accepted ?? "").slice(0, MOST_CHARACTERS).split(",").flatMap((item) => {
    const [range = "", ...parameters] = item.split(";").map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    const quality = weight === undefined ? 1 : Number(weight);
    const language = range.toLowerCase().split("-")[0] ?? "";
    return quality > 0 ? [{ language, quality }] : [];
  });
  wanted.sort((a, b) => b.quality - a.quality);
  for (const { language } of wanted) {
    const found = CATALOGUES.find((messages) => messages.language === language);
    if (found) return found;
  }
  return english;
}
