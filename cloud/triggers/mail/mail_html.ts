/** What the HTML form of every mail of this cloud has in common. */
export interface HtmlContent {
  /** Plain text, a paragraph each. */
  readonly sentences: readonly string[];
  /** Plain text: names and values, in a table. */
  readonly rows: readonly (readonly [name: string, value: string])[];
  /** HTML: what to do next. */
  readonly next: string;
  /** Plain text: why it was sent. */
  readonly why: string;
}

/** A mail as HTML. */
export function mailHtml({ sentences, rows, next, why }: HtmlContent): string {
  const cell = 'style="padding:2px 12px 2px 0;text-align:left;vertical-align:top"';
  return [
    '<div style="font-family:sans-serif;font-size:14px">',
    ...sentences.map((sentence) => `<p>${escapeHtml(sentence)}</p>`),
    "<table>",
    ...rows.map(([name, value]) =>
      `<tr><th ${cell}>${escapeHtml(name)}</th><td ${cell}>${escapeHtml(value)}</td></tr>`
    ),
    "</table>",
    `<p>${next}</p>`,
    `<p style="color:#666">${escapeHtml(why)}</p>`,
    "</div>",
  ].join("\n");
}

/** Text as it is written in HTML. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Text without line breaks, for subjects. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
