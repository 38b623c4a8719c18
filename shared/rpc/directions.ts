const MARK = /[\u202A-\u202E\u2066-\u2069]/g;
const END_OF_ISOLATE = "\u2069";
const END_OF_EMBEDDING = "\u202C";

/**
 * A name with its marks of direction closed: an open one turns around what follows in the sentence,
 * and one that closes more than it opened does so although an element isolates the name.
 */
export function withClosedDirections(text: string): string {
  const open: string[] = [];
  const closed = text.replaceAll(MARK, (mark) => {
    if (mark === END_OF_ISOLATE) {
      const at = open.lastIndexOf(END_OF_ISOLATE);
      if (at < 0) return "";
      open.length = at;
      return mark;
    }
    if (mark === END_OF_EMBEDDING) return open.at(-1) === mark ? open.pop()! : "";
    open.push(mark >= "\u2066" ? END_OF_ISOLATE : END_OF_EMBEDDING);
    return mark;
  });
  return closed + open.reverse().join("");
}
