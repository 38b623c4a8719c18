/** A word or sign of a statement in SQL. */
export interface Token {
  readonly kind: "name" | "text" | "number" | "sign";
  /** Names in lower case and without quotation marks, texts as they are, else as it is written. */
  readonly value: string;
  /** A name in quotation marks is no keyword. */
  readonly isQuoted: boolean;
  /** Parentheses around it; a parenthesis itself is outside. */
  readonly depth: number;
}

const TOKEN = new RegExp(
  [
    /(?<space>[ \t\n\f\r]+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))/,
    /'(?<text>(?:[^']|'')*)'/,
    /"(?<quoted>(?:[^"]|"")*)"|\[(?<bracketed>[^\]]*)\]|`(?<ticked>(?:[^`]|``)*)`/,
    /(?<number>(?:0[xX][\da-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?))(?![\w.])/,
    /(?<name>[A-Za-z_\u0080-\ufefe\uff00-\uffff][\w$\u0080-\ufefe\uff00-\uffff]*)/,
    /(?<sign><=|>=|<>|!=|==|\|\||<<|>>|->>|->|[-+*\/%&|~<>=(),.;?:@#$])/,
  ].map(({ source }) => source).join("|"),
  "y",
);

/** The words of a statement as SQLite reads them; undefined: it has something unknown. */
export function tokensOf(statement: string): Token[] | undefined {
  const tokens: Token[] = [];
  let depth = 0;
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < statement.length;) {
    const groups = TOKEN.exec(statement)?.groups;
    if (!groups) return undefined;
    const { space, text, quoted, bracketed, ticked, number, name, sign } = groups;
    if (space !== undefined) continue;
    if (sign === ")") depth--;
    const token = { isQuoted: false, depth };
    if (sign === "(") depth++;
    const marked = quoted?.replaceAll('""', '"') ?? bracketed ?? ticked?.replaceAll("``", "`");
    if (marked !== undefined) {
      tokens.push({ ...token, kind: "name", value: marked.toLowerCase(), isQuoted: true });
    } else if (text !== undefined) {
      tokens.push({ ...token, kind: "text", value: text.replaceAll("''", "'") });
    } else if (number !== undefined) tokens.push({ ...token, kind: "number", value: number });
    else if (name !== undefined) {
      tokens.push({ ...token, kind: "name", value: name.toLowerCase() });
    } else tokens.push({ ...token, kind: "sign", value: sign ?? "" });
  }
  return tokens;
}
