const LONGEST = 20;

/** A long id without its middle. */
export function shortened(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, 8)}…${text.slice(-6)}`;
}
