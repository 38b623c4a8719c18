import { common } from "../texts/common.ts";
import { say } from "../texts/say.svelte.ts";
import { toasts } from "./toasts.svelte.ts";

/** Puts a text on the clipboard and says so. Without a secure context it selects it in a hidden field. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages without TLS have no clipboard but this.
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "unseen";
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  toasts.show({ text: say(common.copied), kind: "good" });
}
