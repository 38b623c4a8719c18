import { isName, NAME_ALLOWED } from "../forms.ts";
import { type Path, problemAt, type Report } from "../problem.ts";

/**
 * Checks a name: not empty, allowed characters, length.
 *
 * @param path of the name itself
 */
export function checkName(
  name: string,
  path: Path,
  report: Report,
  limits: { longest: number },
): void {
  if (name === "") {
    report(problemAt(path, name, "the name is empty", NAME_ALLOWED));
  } else if (!isName(name)) {
    const reserved = /[:+]/.exec(name)?.[0];
    const message = reserved === undefined
      ? "the name has a character that is not allowed, or starts with one"
      : `the name has a ${reserved}, which is reserved for names of remotes`;
    report(problemAt(path, name, message, NAME_ALLOWED));
  } else if (name.length > limits.longest) {
    report(
      problemAt(
        path,
        name,
        `the name has ${name.length} characters`,
        `at most ${limits.longest} characters`,
      ),
    );
  }
}

/** Reports every entry whose key an earlier entry has. Answers the positions of those entries. */
export function findDuplicates(
  keys: readonly (string | undefined)[],
  onDuplicate: (at: number, first: number) => void,
): void {
  const first = new Map<string, number>();
  keys.forEach((key, at) => {
    if (key === undefined || key === "") return;
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, at);
    else onDuplicate(at, earlier);
  });
}
