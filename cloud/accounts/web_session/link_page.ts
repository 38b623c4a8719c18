import { type Language, reasons } from "../../../shared/rpc/reason_texts.ts";
import { pageTexts } from "./page_texts.ts";
import { type Page, pageHtml } from "./pages.ts";

/** Where the script of the page is, which the content security policy wants in a file of its own. */
export const LINK_SCRIPT_PATH = "/account/link.js";

const PAGE: Page = {
  title: pageTexts.signingIn,
  texts: [],
  script: LINK_SCRIPT_PATH,
};

/**
 * The page of a link that signs in. The code is in the fragment of its address, which browsers do
 * not send: it is in no log on the way, and nothing but a script that runs uses it up.
 */
export function linkPage(language: Language): string {
  return pageHtml(PAGE, language);
}

/** What the script says, in the language of the page. */
const TEXTS = {
  signIn: pageTexts.signIn,
  unreachable: ["The cloud cannot be reached.", "Die Cloud ist nicht erreichbar."],
  again: ["Try again", "Erneut versuchen"],
  byLink: ["Sign in with the link", "Mit dem Link anmelden"],
  otherwise: ["Sign in another way", "Anders anmelden"],
  failed: ["That did not work.", "Das hat nicht geklappt."],
  noCode: ["This link has no code.", "Dieser Link hat keinen Code."],
};
const REASONS = {
  LINK_OF_OTHER: reasons.LINK_OF_OTHER[1],
  LINK_OVER: reasons.LINK_OVER[1],
  TOO_MANY_ATTEMPTS: reasons.TOO_MANY_ATTEMPTS[1],
};

/** Exchanges the code for a session and continues to the first page. */
export const LINK_SCRIPT = `const main = document.querySelector("main");
const isGerman = document.documentElement.lang === "de";
const texts = ${JSON.stringify(TEXTS)};
const reasons = ${JSON.stringify(REASONS)};
const say = (name) => texts[name][isGerman ? 1 : 0];
const code = location.hash.slice(1);
// Neither the history of the browser nor an image of the screen keeps it.
history.replaceState(null, "", location.pathname);

async function signIn(replace) {
  let response;
  try {
    response = await fetch("/account/session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ link: code, replace }),
    });
  } catch {
    show(say("unreachable"), say("again"), () => signIn(replace));
    return;
  }
  if (response.ok) {
    location.replace("/");
    return;
  }
  const answer = await response.json().catch(() => ({}));
  const german = isGerman ? reasons[answer.reason] : undefined;
  const message = german?.replace(/\\{(\\w+)\\}/g, (place, name) => answer.values?.[name] ?? place) ??
    answer.message ?? say("failed");
  if (answer.code === "failed_precondition") {
    show(message, say("byLink"), () => signIn(true));
  } else if (await isSignedIn()) {
    location.replace("/");
  } else {
    show(message, say("otherwise"), () => location.replace("/account/sign-in"));
  }
}

async function isSignedIn() {
  const answer = await fetch("/account/session").then((each) => each.json(), () => ({}));
  return answer.signed_in === true;
}

function show(text, label, action) {
  document.title = say("signIn");
  const heading = document.createElement("h1");
  heading.textContent = say("signIn");
  const paragraph = document.createElement("p");
  paragraph.setAttribute("role", "alert");
  paragraph.textContent = text.charAt(0).toUpperCase() + text.slice(1).replace(/[^.]$/, "$&.");
  const button = document.createElement("button");
  button.textContent = label;
  button.addEventListener("click", action, { once: true });
  main.replaceChildren(heading, paragraph, button);
}

if (code) await signIn(false);
else show(say("noCode"), say("otherwise"), () => location.replace("/account/sign-in"));
`;
