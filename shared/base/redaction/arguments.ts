/** Secrets among the arguments of programs. */
import { isSecretKey, SECRET_MASK } from "./secret_keys.ts";

/** `--token abc`, also as a list in JSON: `"--token","abc"`. */
const NEXT =
  /(?<![\w-])(--?)([a-z][\w-]{1,63})(\s{1,8}|["']\s?,\s?["'])(?!-)("[^"]*"|'[^']*'|[^\s"',\]]+)/gi;
/** What follows the name of an option in a sentence. */
const PROSE = new Set(
  ["and", "are", "as", "at", "but", "by", "can", "cannot", "for", "from", "has", "if", "in", "is"]
    .concat(["it", "may", "missing", "must", "needs", "not", "of", "on", "or", "takes", "that"])
    .concat(["the", "to", "twice", "was", "when", "which", "with", "without", "wants"]),
);

/** The text with `******` where secret arguments stood. */
export function maskArguments(text: string): string {
  return text.replace(
    NEXT,
    (all, dashes: string, name: string, between: string, value: string) =>
      isSecretOption(name, value) && !PROSE.has(value.replace(/[.,:;)]+$/, ""))
        ? `${dashes}${name}${between}${SECRET_MASK}`
        : all,
  );
}

/** A list of arguments with `******` in place of those that follow the name of a secret. */
export function maskArgumentList<T>(list: readonly T[]): (T | string)[] {
  return list.map((item, n) => {
    const before = list[n - 1];
    if (typeof item !== "string" || typeof before !== "string" || item.startsWith("-")) return item;
    const option = /^--?([A-Za-z][\w-]*)$/.exec(before);
    return option && isSecretOption(option[1]!, item) ? SECRET_MASK : item;
  });
}

/** `-key` and `--key` name files and records as often as secrets. */
function isSecretOption(name: string, value: string): boolean {
  return name !== "key" && isSecretKey(name, value);
}
