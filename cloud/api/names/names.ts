/** Why a name cannot be given to an organisation or a location; undefined when it can. */
export function titleProblem(name: string): string | undefined {
  if (name.trim() === "") return "it is empty";
  if (name.length > 100) return "it is longer than 100 characters";
  if (/\p{Cc}/u.test(name)) return "it has a control character";
  return undefined;
}

/** Why a name cannot be given to a machine or a part; undefined when it can. */
export function machineNameProblem(name: string): string | undefined {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$/.test(name)) return undefined;
  return "allowed are letters, digits, `-` and `_`, a letter or digit first, 60 characters at most";
}
