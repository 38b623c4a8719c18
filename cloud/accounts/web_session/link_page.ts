import { type Page, pageHtml } from "./pages.ts";

/** Where the script of the page is, which the content security policy wants in a file of its own. */
export const LINK_SCRIPT_PATH = "/account/link.js";

const PAGE: Page = {
  title: "Signing in …",
  texts: [],
  script: LINK_SCRIPT_PATH,
};

/**
 * The page of a link that signs in. The code is in the fragment of its address, which browsers do
 * not send: it is in no log on the way, and nothing but a script that runs uses it up.
 */
export function linkPage(): string {
  return pageHtml(PAGE);
}

/** Exchanges the code for a session and continues to the first page. */
export const LINK_SCRIPT = `const main = document.querySelector("main");
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
    show("The cloud cannot be reached.", "Try again", () => signIn(replace));
    return;
  }
  if (response.ok) {
    location.replace("/");
    return;
  }
  const { code: reason, message = "That did not work." } = await response.json().catch(() => ({}));
  if (reason === "failed_precondition") {
    show(message, "Sign in with the link", () => signIn(true));
  } else if (await isSignedIn()) {
    location.replace("/");
  } else {
    show(message, "Sign in another way", () => location.replace("/account/sign-in"));
  }
}

async function isSignedIn() {
  const answer = await fetch("/account/session").then((each) => each.json(), () => ({}));
  return answer.signed_in === true;
}

function show(text, label, action) {
  document.title = "Sign in";
  const heading = document.createElement("h1");
  heading.textContent = "Sign in";
  const paragraph = document.createElement("p");
  paragraph.setAttribute("role", "alert");
  paragraph.textContent = text.charAt(0).toUpperCase() + text.slice(1).replace(/[^.]$/, "$&.");
  const button = document.createElement("button");
  button.textContent = label;
  button.addEventListener("click", action, { once: true });
  main.replaceChildren(heading, paragraph, button);
}

if (code) await signIn(false);
else show("This link has no code.", "Sign in another way", () => location.replace("/account/sign-in"));
`;
