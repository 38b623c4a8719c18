import { PAGE_STYLE_PATH } from "./page_style.ts";

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: "email" | "password" | "text" | "hidden";
  readonly value?: string;
  readonly autocomplete?: string;
}

export interface Button {
  readonly name: string;
  readonly value: string;
  readonly text: string;
}

/** A page by which people sign in: it needs neither the console nor, but for links, scripts. */
export interface Page {
  readonly title: string;
  /** Path of an image above the title. */
  readonly logo?: string | undefined;
  /** Sentences above the form. */
  readonly texts?: readonly string[];
  /** What went wrong with what was sent before. */
  readonly problem?: string;
  readonly form?: {
    readonly fields: readonly Field[];
    /** What it says; or several, each of which sends its value. */
    readonly button: string | readonly Button[];
    /** Path that it is sent to; left out: that of the page. */
    readonly action?: string;
  };
  readonly links?: readonly { readonly href: string; readonly text: string }[];
  /** Path of a script that it runs. */
  readonly script?: string;
  /** Path that the browser continues to at once. */
  readonly onward?: string;
}

/** The page as HTML; everything in it is escaped. */
export function pageHtml(
  { title, logo, texts = [], problem, form, links = [], script, onward }: Page,
): string {
  const inputs = form?.fields.map((field) => {
    const attributes = `type="${field.type}" name="${field.name}" id="${field.name}"` +
      ` value="${escaped(field.value ?? "")}"` +
      (field.autocomplete ? ` autocomplete="${field.autocomplete}"` : "");
    if (field.type === "hidden") return `<input ${attributes}>`;
    return `<p><label for="${field.name}">${escaped(field.label)}</label><br>` +
      `<input ${attributes} size="40"></p>`;
  });
  return [
    '<!doctype html><html lang="en"><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">',
    onward === undefined ? "" : `<meta http-equiv="refresh" content="0;url=${escaped(onward)}">`,
    `<link rel="icon" href="/favicon.svg"><link rel="stylesheet" href="${PAGE_STYLE_PATH}"><title>${
      escaped(title)
    }</title><main>`,
    logo === undefined ? "" : `<p><img src="${escaped(logo)}" alt="" height="40"></p>`,
    `<h1>${escaped(title)}</h1>`,
    ...texts.map((text) => `<p>${escaped(text)}</p>`),
    problem === undefined ? "" : `<p role="alert"><strong>${escaped(problem)}</strong></p>`,
    form && inputs
      ? `<form method="post"${form.action ? ` action="${form.action}"` : ""}>${inputs.join("")}${
        buttons(form.button)
      }</form>`
      : "",
    ...links.map(({ href, text }) => `<p><a href="${escaped(href)}">${escaped(text)}</a></p>`),
    script ? "<noscript><p>This page needs JavaScript.</p></noscript>" : "",
    `</main>${script ? `<script type="module" src="${script}"></script>` : ""}</html>`,
  ].join("");
}

function buttons(button: string | readonly Button[]): string {
  if (typeof button === "string") return `<button>${escaped(button)}</button>`;
  return button.map(({ name, value, text }) =>
    `<button name="${escaped(name)}" value="${escaped(value)}">${escaped(text)}</button>`
  ).join(" ");
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
