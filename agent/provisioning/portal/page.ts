import type { ProvisioningStatus, VisibleNetwork } from "../provisioning_port.ts";
import { escapeHtml, networkName, visibleText } from "./html.ts";
import type { FormProblem, Messages } from "./messages.ts";
import { SCRIPT, STYLE } from "./page_assets.ts";

/** For the rows of networks, so that the page has 20 KB at most, whatever is in the air. */
const MOST_ROW_BYTES = 10 * 1024;
const MOST_DETAIL_CHARACTERS = 300;
const MOST_ERRORS = 3;
const BARS = ["▂", "▄", "▆", "█"];

/** What a person gave that is no secret; it is there again when the form comes back. */
export interface Entered {
  /** `other`, `keep`, or the name of a network in hexadecimal. */
  readonly network: string;
  readonly name: string;
}

export interface PageView {
  readonly messages: Messages;
  readonly status: ProvisioningStatus;
  readonly networks: readonly VisibleNetwork[];
  /** The name of the hotspot. */
  readonly hotspot: string;
  /** For the form. */
  readonly token: string;
  readonly state: PageState;
  readonly problem?: { readonly kind: FormProblem; readonly detail?: string } | undefined;
  readonly entered?: Entered | undefined;
  /** The network that was just chosen, as {@link networkName} shows it. */
  readonly chosen?: string | undefined;
}

/** `trying`: what was given is tried out; `connected`: all is done. */
export type PageState = "form" | "trying" | "connected";

/** The portal's only page. */
export function renderPage(view: PageView): string {
  const { messages, status, state } = view;
  const title = messages.title(quoted(visibleText(status.hostName)));
  const body = state === "trying"
    ? tryingPart(view)
    : state === "connected"
    ? connectedPart(view)
    : formPart(view);
  const about = [status.manufacturer, status.model].filter(Boolean).map(visibleText).join(" · ");
  return `<!DOCTYPE html><html lang="${messages.language}"><head><meta charset="utf-8">` +
    `<meta name="viewport" content="width=device-width,initial-scale=1">` +
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><main>` +
    `<div class="soft"><bdi>${escapeHtml(about)}</bdi></div><h1>${escapeHtml(title)}</h1>` +
    `${body}</main><script>${SCRIPT}</script></body></html>`;
}

function tryingPart({ messages, status, hotspot, chosen }: PageView): string {
  const { lastAttempt } = status;
  const network = lastAttempt?.result === "connecting" ? visibleText(lastAttempt.ssid) : chosen;
  const name = network === undefined ? undefined : quoted(network);
  const own = quoted(hotspot);
  const lines = [
    messages.trying(name),
    messages.pageGoesAway(own),
    messages.ifItWorks,
    messages.ifItFails(own),
  ];
  return `<div class="card" id="trying" role="status"><h2>${
    escapeHtml(messages.tryingTitle)
  }</h2>` +
    `<progress></progress>${lines.map((line) => `<p>${escapeHtml(line)}</p>`).join("")}` +
    `<p id="gone" hidden><strong>${escapeHtml(messages.gone(own))}</strong></p></div>` +
    `<a class="button" href="/">${escapeHtml(messages.lookAgain)}</a>`;
}

function connectedPart({ messages, status }: PageView): string {
  const ssid = status.lastAttempt?.result === "connected" ? status.lastAttempt.ssid : undefined;
  const text = ssid === undefined ? "" : messages.connected(quoted(visibleText(ssid)));
  return card("good", messages.connectedTitle, [text]);
}

function formPart(view: PageView): string {
  const { messages, status, token } = view;
  const hasFile = !status.hasCredentials;
  const hidden = `<input type="hidden" name="token" value="${escapeHtml(token)}">`;
  return [
    `<p class="soft">${escapeHtml(messages.intro)}</p>`,
    ...banners(view),
    `<form id="scan" method="post" action="/scan">${hidden}</form>`,
    `<form id="setup" method="post" action="/save" autocomplete="off"${
      hasFile ? ' enctype="multipart/form-data"' : ""
    }>${hidden}`,
    networksPart(view),
    hasFile ? credentialsPart(messages, status.holdsCredentials) : "",
    `<button class="main" id="go">${escapeHtml(messages.connect)}</button></form>`,
  ].join("");
}

/** What went wrong, the newest first. */
function banners({ messages, status, problem }: PageView): string[] {
  const { lastAttempt } = status;
  const shown: string[] = [];
  if (problem) {
    const detail = problem.detail && `${messages.detail} ${shortened(problem.detail)}`;
    shown.push(card("bad", messages.problemTitle, [messages.problems[problem.kind], detail]));
    return shown;
  }
  if (lastAttempt?.result === "failed") {
    const { failure = "other", error } = lastAttempt;
    const detail = failure === "other" && error
      ? `${messages.detail} ${shortened(error)}`
      : undefined;
    const title = messages.failedTitle(quoted(visibleText(lastAttempt.ssid)));
    shown.push(card("bad", title, [messages.failures[failure], detail]));
  } else if (lastAttempt?.result === "connected" && !status.hasCredentials) {
    shown.push(card("good", messages.stillMissing, []));
  }
  // That of the last try is shown above.
  const told = lastAttempt?.result === "failed" ? lastAttempt.error : undefined;
  const others = status.errors.filter((error) => told === undefined || !error.endsWith(told));
  if (others.length > 0) {
    const lines = others.slice(0, MOST_ERRORS).map(shortened);
    shown.push(card("bad", messages.problemTitle, [messages.detail, ...lines]));
  }
  return shown;
}

function networksPart(view: PageView): string {
  const { messages, networks, status } = view;
  const chosen = view.entered?.network ?? defaultChoice(view);
  const rows: string[] = [];
  let bytes = 0;
  for (const network of networks) {
    const row = networkRow(network, messages, chosen);
    bytes += new TextEncoder().encode(row).length;
    if (bytes > MOST_ROW_BYTES) break;
    rows.push(row);
  }
  const left = networks.length - rows.length;
  const more = left > 0 ? `<p class="soft">${escapeHtml(messages.moreNetworks(left))}</p>` : "";
  const none = networks.length === 0
    ? `<p class="soft">${escapeHtml(messages.noNetworks)}</p>`
    : "";
  const keep = status.isOnline ? extraRow("keep", messages.keepConnection, chosen) : "";
  const name = escapeHtml(view.entered?.name ?? "");
  return `<fieldset><legend>${escapeHtml(messages.network)}</legend>${keep}${
    rows.join("")
  }${none}` +
    `${more}${extraRow("other", messages.otherNetwork, chosen)}` +
    `<div class="other"><label class="t" for="name">${escapeHtml(messages.otherName)}</label>` +
    `<input type="text" id="name" name="name" value="${name}" maxlength="32" autocapitalize="none" ` +
    `autocorrect="off" spellcheck="false"></div>` +
    `<p><button form="scan">${escapeHtml(messages.searchAgain)}</button></p>` +
    `</fieldset><fieldset class="psk"><legend>` +
    `<label for="psk">${escapeHtml(messages.password)}</label></legend><div class="row">` +
    `<input type="password" id="psk" name="password" maxlength="64" autocapitalize="none" ` +
    `autocorrect="off" spellcheck="false" autocomplete="off">` +
    `<button type="button" id="show" hidden data-show="${escapeHtml(messages.show)}" ` +
    `data-hide="${escapeHtml(messages.hide)}">${
      escapeHtml(messages.show)
    }</button></div></fieldset>`;
}

/** The network that was tried last, for another password. */
function defaultChoice({ status, networks }: PageView): string {
  if (status.isOnline) return "keep";
  const last = networks.find(({ ssid }) => ssid === status.lastAttempt?.ssid);
  return last ? last.ssidBytes.toHex() : "";
}

function networkRow(network: VisibleNetwork, messages: Messages, chosen: string): string {
  const { ssidBytes, security, signal, isKnown } = network;
  const value = ssidBytes.toHex();
  const isOff = security === "wep" || security === "enterprise";
  const kind = security === "open" || isOff ? messages[security] : security.toUpperCase();
  const level = Math.min(3, Math.max(0, Math.floor(signal / 25)));
  const strength = escapeHtml(messages.strength[level] ?? "");
  const about = isKnown ? `${kind} · ${messages.known}` : kind;
  return `<label class="n${isOff ? " off" : ""}"><input type="radio" name="network" ` +
    `value="${value}"${value === chosen ? " checked" : ""}${isOff ? " disabled" : ""}${
      security === "open" ? " data-open" : ""
    }><span><bdi>${escapeHtml(networkName(ssidBytes))}</bdi>` +
    `<small>${escapeHtml(about)}</small></span><span class="g" role="img" ` +
    `aria-label="${strength}">${BARS.slice(0, level + 1).join("")}<i>${
      BARS.slice(level + 1).join("")
    }</i></span></label>`;
}

function extraRow(value: string, text: string, chosen: string): string {
  return `<label class="n"><input type="radio" name="network" value="${value}"${
    value === "keep" ? " data-open" : ""
  }${value === chosen ? " checked" : ""}><span>${escapeHtml(text)}</span></label>`;
}

function credentialsPart(messages: Messages, isHeld: boolean): string {
  return `<fieldset><legend><label for="credentials">${escapeHtml(messages.credentials)}</label>` +
    `</legend><p class="soft">${
      escapeHtml(isHeld ? messages.credentialsHeld : messages.credentialsHelp)
    }</p>` +
    `<textarea id="credentials" name="credentials" rows="5" spellcheck="false" autocapitalize="none" ` +
    `placeholder="{&quot;cloud&quot;: {…}}"></textarea>` +
    `<label class="t" for="file">${escapeHtml(messages.credentialsFile)}</label>` +
    `<input type="file" id="file" name="file" accept=".json,application/json"></fieldset>`;
}

function card(kind: "good" | "bad", title: string, lines: readonly (string | undefined)[]): string {
  const paragraphs = lines.filter(Boolean).map((line) => `<p>${escapeHtml(line ?? "")}</p>`);
  const role = kind === "bad" ? "alert" : "status";
  return `<div class="card ${kind}" role="${role}"><h2>${escapeHtml(title)}</h2>${
    paragraphs.join("")
  }</div>`;
}

/** A name in a sentence: its direction of writing changes nothing around it. */
const quoted = (name: string) => `\u2068${name}\u2069`;

const shortened = (text: string) => visibleText(text).slice(0, MOST_DETAIL_CHARACTERS);
