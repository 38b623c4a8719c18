/** Sends mail to people; undefined where the cloud has no mail server. */
export type SendMail = (
  mail: {
    readonly to: string;
    readonly subject: string;
    readonly text: string;
    readonly html: string;
    readonly id: string;
  },
) => Promise<unknown>;

/** A mail of a few lines, its link to be clicked. */
export function mailHtml(text: string, url: string): string {
  const escaped = (part: string) =>
    part.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`).replaceAll("\n", "<br>");
  const link = `<a href="${escaped(url)}">${escaped(url)}</a>`;
  return `<!doctype html><p>${text.split(url).map(escaped).join(link)}</p>`;
}
