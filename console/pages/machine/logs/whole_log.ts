/** All lines that fit, read page by page for a file. */

/** One page of lines, the newest first. */
export interface LogPage {
  readonly texts: readonly string[];
  /** Of the page after it; empty: there is none. */
  readonly nextPageToken: string;
}

export interface WholeLogOptions {
  readonly read: (pageToken: string) => Promise<LogPage>;
  /** Older lines than so many characters are left out. */
  readonly mostCharacters: number;
  /** Gets how many lines are read, after each page. */
  readonly progress: (lines: number) => void;
  /** Ends it with its reason. */
  readonly signal: AbortSignal;
}

export interface WholeLog {
  /** The oldest line first. */
  readonly blob: Blob;
  readonly lines: number;
  /** Nothing was left out. */
  readonly isAll: boolean;
}

/**
 * Reads lines back to the oldest that fits. The browser keeps what is read outside of the page's
 * memory.
 */
export async function readWholeLog(
  { read, mostCharacters, progress, signal }: WholeLogOptions,
): Promise<WholeLog> {
  const pages: Blob[] = [];
  let lines = 0;
  let characters = 0;
  let token = "";
  do {
    const { texts, nextPageToken } = await read(token);
    signal.throwIfAborted();
    const text = texts.toReversed().map((each) => `${each}\n`).join("");
    if (text !== "") pages.push(new Blob([text]));
    lines += texts.length;
    characters += text.length;
    token = nextPageToken;
    progress(lines);
  } while (token !== "" && characters < mostCharacters);
  const blob = new Blob(pages.toReversed(), { type: "text/plain" });
  return { blob, lines, isAll: token === "" };
}
