import { type Language, LANGUAGES, type Text } from "../../../shared/rpc/reason_texts.ts";
import { PAGE_STYLE_PATH } from "./page_style.ts";
import { pageTexts } from "./page_texts.ts";

export interface Field {
  readonly name: string;
  /** Hidden ones have none. */
  readonly label?: Text;
  readonly type: "email" | "password" | "text" | "hidden";
  readonly value?: string;
  readonly autocomplete?: string;
}

export interface Button {
  readonly name: string;
  readonly value: string;
  readonly text: Text;
}

/** A page by which people sign in: it needs neither the console nor, but for links, scripts. */
export interface Page {
  readonly title: Text;
  /** Path of an image above the title. */
  readonly logo?: string | undefined;
  /** Sentences above the form. */
  readonly texts?: readonly Text[];
  /** What went wrong with what was sent before. */
  readonly problem?: Text;
  readonly form?: {
    readonly fields: readonly Field[];
    /** What it says; or several, each of which sends its value. */
    readonly button: Text | { readonly choices: readonly Button[] };
    /** Path that it is sent to; left out: that of the page. */
    readonly action?: string;
  };
  readonly links?: readonly { readonly href: string; readonly text: Text }[];
  /** Path of a script that it runs. */
  readonly script?: string;
  /** Path that the browser continues to at once. */
  readonly onward?: string;
}

/** The page as HTML; everything in it is escaped. */
export function pageHtml(
  { title, logo, texts = [], problem, form, links = [], script, onward }: Page,
  language: Language,
): string {
  const said = (text: Text) => escaped(text[LANGUAGES.indexOf(language)] ?? text[0]);
  const inputs = form?.fields.map((field) => {
    const attributes = `type="${field.type}" name="${field.name}" id="${field.name}"` +
      ` value="${escaped(field.value ?? "")}"` +
      (field.autocomplete ? ` autocomplete="${field.autocomplete}"` : "");
    if (field.type === "hidden") return `<input ${attributes}>`;
    return `<p><label for="${field.name}">${field.label ? said(field.label) : ""}</label><br>` +
      `<input ${attributes} size="40"></p>`;
  });
  return [
    `<!doctype html><html lang="${language}"><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">',
    onward === undefined ? "" : `<meta http-equiv="refresh" content="0;url=${escaped(onward)}">`,
    `<link rel="icon" href="/favicon.svg"><link rel="stylesheet" href="${PAGE_STYLE_PATH}"><title>${
      said(title)
    }</title><main>`,
    logo === undefined ? "" : `<p><img src="${escaped(logo)}" alt="" height="40"></p>`,
    `<h1>${said(title)}</h1>`,
    ...texts.map((text) => `<p>${said(text)}</p>`),
    problem === undefined ? "" : `<p role="alert"><strong>${said(problem)}</strong></p>`,
    form && inputs
      ? `<form method="post"${form.action ? ` action="${form.action}"` : ""}>${inputs.join("")}${
        buttons(form.button, said)
      }</form>`
      : "",
    ...links.map(({ href, text }) => `<p><a href="${escaped(href)}">${said(text)}</a></p>`),
    script ? `<noscript><p>${said(pageTexts.needsScript)}</p></noscript>` : "",
    `</main>${script ? `<script type="module" src="${script}"></script>` : ""}</html>`,
  ].join("");
}

function buttons(
  button: Text | { readonly choices: readonly Button[] },
  said: (text: Text) => string,
): string {
  if (!("choices" in button)) return `<button>${said(button)}</button>`;
  return button.choices.map(({ name, value, text }) =>
    `<button name="${escaped(name)}" value="${escaped(value)}">${said(text)}</button>`
  ).join(" ");
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
