import { nearestName } from "../base/flags/nearest.ts";
import { type ConfigProblem, type Path, problemAt } from "./problem.ts";

/**
 * The warning about a key that is not known, with the one that was probably meant: `machine-agent`
 * where there is an `agent`, `advancd_settings` where there is an `advanced_settings`.
 *
 * @param path ends with the key
 * @param known the keys that may stand there
 */
export function unknownKey(path: Path, value: unknown, known: readonly string[]): ConfigProblem {
  const key = String(path.at(-1));
  const words = key.split(/[-_]/);
  const meant = nearestName(key, known) ?? known.find((one) => words.includes(one));
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  return problemAt(path, value, `this key is not known${hint}`);
}
