import { app, session, signIn } from "./api.js";
import { every, h } from "./dom.js";
import { duration, enumWord } from "./format.js";
import { showMachine } from "./machine.js";
import { releasesSection } from "./software.js";

const main = document.getElementById("main");
const banner = document.getElementById("banner");
const signOut = document.getElementById("sign-out");
let leave = () => {};

/**
 * Makes the function with which one view runs work that may fail: a failure is a sentence in the
 * banner until work of the same name succeeds, an ended session leads to the sign-in form.
 */
function attempts() {
  const failures = new Map();
  let left = false;
  const attempt = async (name, work) => {
    try {
      await work();
      failures.delete(name);
    } catch (error) {
      failures.set(name, error);
    }
    if (left) return;
    const errors = [...failures.values()];
    if (errors.some(({ code }) => code === "unauthenticated")) {
      session.end();
      show("Your session has ended. Sign in again.");
    } else showBanner(errors.find(({ code }) => code === "unreachable") ?? errors[0]);
  };
  const end = () => {
    left = true;
  };
  return { attempt, end };
}

function showBanner(error) {
  const text = error === undefined
    ? ""
    : error.code === "unreachable"
    ? "The cloud cannot be reached; trying again."
    : sentence(error.message);
  if (banner.dataset.text !== text) {
    banner.dataset.text = text;
    const retry = h(
      "button",
      { type: "button", className: "quiet", onclick: () => show() },
      "Try now",
    );
    banner.replaceChildren(text, ...(error?.code === "unreachable" ? [retry] : []));
  }
  banner.hidden = text === "";
}

function sentence(text) {
  const upper = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(upper) ? upper : `${upper}.`;
}

/** Shows what the address asks for. */
function show(message = "") {
  leave();
  leave = () => {};
  showBanner(undefined);
  signOut.hidden = !session.signedIn;
  if (!session.signedIn) return showSignIn(message);
  const machine = new URLSearchParams(location.search).get("machine");
  const { attempt, end } = attempts();
  const stop = machine ? showMachine(main, machine, attempt) : showList(attempt);
  leave = () => {
    end();
    stop();
  };
}

function showSignIn(message) {
  document.title = "Sign in";
  const keyId = h("input", {
    id: "key-id",
    name: "key_id",
    required: true,
    autocomplete: "username",
  });
  const key = h("input", {
    id: "key",
    name: "key",
    type: "password",
    required: true,
    autocomplete: "current-password",
  });
  const problem = h("p", { className: "problem", role: "alert" }, message);
  const button = h("button", { type: "submit" }, "Sign in");
  const onsubmit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    problem.textContent = "";
    try {
      await signIn(keyId.value.trim(), key.value.trim());
      show();
    } catch (error) {
      problem.textContent = error.code === "unauthenticated"
        ? "The key id and the key do not fit together. Check both."
        : sentence(error.message);
      key.focus();
    } finally {
      button.disabled = false;
    }
  };
  main.replaceChildren(h(
    "form",
    { className: "card sign-in", onsubmit },
    h("h1", {}, "Sign in"),
    h("a", { href: "/account/sign-in" }, "Sign in with your e-mail address"),
    h("p", { className: "soft" }, "Or with an API key of your organisation or machine:"),
    h("label", { htmlFor: "key-id" }, "Key id"),
    keyId,
    h("label", { htmlFor: "key" }, "Key"),
    key,
    problem,
    button,
  ));
  keyId.focus();
}

function showList(attempt) {
  document.title = "Machines";
  const list = h("div", {}, h("p", { className: "soft" }, "Loading …"));
  const releases = h("div", {});
  main.replaceChildren(h("h1", {}, "Machines"), list, releases);
  const stops = [
    every(5000, () =>
      attempt("list", async () => {
        const { organizations = [] } = await app("ListOrganizations");
        const sections = await Promise.all(organizations.map(organizationSection));
        if (list.isConnected) list.replaceChildren(...sections.flat());
      })),
    every(5000, () =>
      attempt("releases", async () => {
        const sections = await releasesSection();
        if (releases.isConnected) releases.replaceChildren(...sections);
      })),
  ];
  return () => stops.forEach((stop) => stop());
}

async function organizationSection(organization) {
  const { locations = [] } = await app("ListLocations", { organizationId: organization.id });
  return await Promise.all(locations.map(async (place) => {
    const { robots = [] } = await app("ListRobots", { locationId: place.id });
    const items = robots.length > 0
      ? h("ul", { className: "machines" }, robots.map(machineItem))
      : h("p", { className: "soft" }, "No machines yet.");
    return h("section", {}, h("h2", {}, `${organization.name} · ${place.name}`), items);
  }));
}

function machineItem(robot) {
  const state = enumWord(robot.onlineState, "ONLINE_STATE_");
  const away = Number(robot.secondsSinceOnline ?? 0);
  const word = state === "offline" ? `offline for ${duration(away)}` : state;
  return h(
    "li",
    {},
    h(
      "a",
      { href: `/?machine=${encodeURIComponent(robot.id)}`, className: "card row", "data-link": "" },
      h("span", { className: `dot ${state.replace(" ", "-")}`, "aria-hidden": "true" }),
      h("strong", {}, robot.name),
      h("span", { className: "soft" }, word),
    ),
  );
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-link]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  show();
  main.focus();
});
addEventListener("popstate", () => show());
signOut.addEventListener("click", () => {
  session.end();
  show();
});
await session.load();
show();
