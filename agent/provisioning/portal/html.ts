/** A text as it stands in HTML, in an attribute with quotes, too. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
}

/** Controls, what turns the direction of writing, and what has no width; but not the joiner of emoji. */
const UNSEEN =
  /[\p{Cc}\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

/** A text of a stranger so that nothing in it is unseen. */
export function visibleText(text: string): string {
  return text.replaceAll(UNSEEN, "\ufffd");
}

/**
 * The name of a network for people: what is no text, or cannot be distinguished, is shown as bytes,
 * too.
 */
export function networkName(ssid: Uint8Array): string {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(ssid);
  const shown = visibleText(text);
  const isPlain = shown === text && shown.trim() === shown && shown !== "" &&
    !text.includes("\ufffd");
  return isPlain ? shown : `${shown} (${ssid.toHex()})`;
}
