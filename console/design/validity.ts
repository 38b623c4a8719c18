import { reasons } from "../../shared/rpc/reason_texts.ts";
import { say } from "../texts/say.svelte.ts";
import { validity } from "../texts/validity.ts";

type Checked = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/**
 * Has browsers say what is wrong with a field in the viewer's language: their own words are in that
 * of the browser, which may be another.
 *
 * @returns what ends it
 */
export function wordValidity(page: Document): () => void {
  const stop = new AbortController();
  const options = { capture: true, signal: stop.signal };
  page.addEventListener("invalid", ({ target }) => {
    if (isChecked(target)) target.setCustomValidity(problemIn(target));
  }, options);
  // Who changes a field or sends the form is judged again; Enter clicks the form's button, too.
  page.addEventListener("input", ({ target }) => {
    if (isChecked(target)) target.setCustomValidity("");
  }, options);
  page.addEventListener("click", ({ target }) => {
    const form = target instanceof Element ? target.closest("button")?.form : undefined;
    for (const field of form?.elements ?? []) if (isChecked(field)) field.setCustomValidity("");
  }, options);
  return () => stop.abort();
}

function isChecked(target: unknown): target is Checked {
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement ||
    target instanceof HTMLTextAreaElement;
}

function problemIn(field: Checked): string {
  const { valueMissing, typeMismatch, patternMismatch, rangeUnderflow, rangeOverflow } =
    field.validity;
  if (valueMissing) {
    return say(field instanceof HTMLSelectElement ? validity.choose : validity.missing);
  }
  if (typeMismatch && field.type === "email") return say(validity.email);
  if (patternMismatch) return say(validity.pattern);
  if ((rangeUnderflow || rangeOverflow) && field instanceof HTMLInputElement) {
    const { min: least, max: most } = field;
    return most === ""
      ? say(reasons.COUNT_INVALID, { least })
      : say(reasons.NUMBER_INVALID, { least: least || "-∞", most });
  }
  return say(validity.other);
}
