import type { ConnectError } from "@connectrpc/connect";
import { type Language, reasonText, type Text } from "../../../shared/rpc/reason_texts.ts";
import { reasonOf } from "../../../shared/rpc/reasons.ts";

/** What the pages say by which people sign in; in braces what {@link withValues} fills. */
export const pageTexts = {
  email: ["E-mail address", "E-Mail-Adresse"],
  password: ["Password", "Passwort"],
  newPassword: ["New password", "Neues Passwort"],
  code: [
    "Code of the authenticator, or a recovery code, if you have set one up",
    "Code des Authenticators oder ein Wiederherstellungscode, falls Sie einen eingerichtet haben",
  ],
  codeNeeded: [
    "Code of the authenticator, or a recovery code",
    "Code des Authenticators oder ein Wiederherstellungscode",
  ],
  signIn: ["Sign in", "Anmelden"],
  signInWith: ["Sign in with {name}", "Mit {name} anmelden"],
  signInOrLink: ["Sign in, or request a link", "Anmelden oder einen Link anfordern"],
  onceMore: [
    "Enter the password and the code once more.",
    "Geben Sie das Passwort und den Code noch einmal ein.",
  ],
  secondFactor: [
    "Your account here has a second factor.",
    "Ihr Konto hat hier einen zweiten Faktor.",
  ],
  setPassword: ["Set a password", "Passwort setzen"],
  sessionsEnd: [
    "All open sessions end when it is set.",
    "Alle offenen Sitzungen enden, wenn es gesetzt ist.",
  ],
  set: ["Set the password", "Passwort setzen"],
  isSet: ["The password is set", "Das Passwort ist gesetzt"],
  signInNow: ["You can sign in as {email} now.", "Sie können sich jetzt als {email} anmelden."],
  join: ["Join {organization}", "{organization} beitreten"],
  joinKnown: [
    "Sign in as {email} to join.",
    "Melden Sie sich als {email} an, um beizutreten.",
  ],
  joinNew: [
    "Set a password for {email} to join.",
    "Setzen Sie ein Passwort für {email}, um beizutreten.",
  ],
  joinNow: ["Join", "Beitreten"],
  signingIn: ["Signing in …", "Anmeldung läuft …"],
  goingOn: ["Going on …", "Es geht weiter …"],
  continue: ["Continue", "Weiter"],
  needsScript: ["This page needs JavaScript.", "Diese Seite braucht JavaScript."],
  refused: ["Refused", "Abgelehnt"],
  ofSomebodyElse: [
    "A page of somebody else sent this form.",
    "Die Seite von jemand anderem hat dieses Formular gesendet.",
  ],
  notFound: ["Not found", "Nicht gefunden"],
  noSuchPage: ["There is no such page.", "Diese Seite gibt es nicht."],
  didNotWork: ["That did not work", "Das hat nicht geklappt"],
  letIn: ["Let a program in", "Ein Programm hereinlassen"],
  allow: ["Let it in", "Hereinlassen"],
  refuse: ["Refuse", "Ablehnen"],
  isLetIn: [
    "The program is let in. Go back to it; this page can be closed.",
    "Das Programm ist hereingelassen. Kehren Sie zu ihm zurück; diese Seite kann geschlossen werden.",
  ],
  isRefused: ["The program was refused.", "Das Programm wurde abgelehnt."],
  done: ["Done", "Erledigt"],
  programHere: [
    "A program on this computer wants to work as {email}. It may do what you may, until you end " +
    "its session.",
    "Ein Programm auf diesem Computer möchte als {email} arbeiten. Es darf, was Sie dürfen, bis Sie " +
    "seine Sitzung beenden.",
  ],
  refuseHere: [
    "Refuse if you did not just start one, such as machine login.",
    "Lehnen Sie ab, wenn Sie nicht gerade eines gestartet haben, etwa machine login.",
  ],
  programElsewhere: [
    "A program that calls itself “{name}”, at the address {address}, shows the code {code} and " +
    "wants to work as {email}. It may do what you may, until you end its session.",
    "Ein Programm, das sich „{name}“ nennt, zeigt an der Adresse {address} den Code {code} und " +
    "möchte als {email} arbeiten. Es darf, was Sie dürfen, bis Sie seine Sitzung beenden.",
  ],
  refuseElsewhere: [
    "Refuse if somebody sent you this code or the address of this page.",
    "Lehnen Sie ab, wenn Ihnen jemand diesen Code oder die Adresse dieser Seite geschickt hat.",
  ],
  typeCode: [
    "Type the code that the program shows.",
    "Geben Sie den Code ein, den das Programm zeigt.",
  ],
  codeField: ["Code", "Code"],
} as const satisfies Readonly<Record<string, Text>>;

/** More preferences than that are not read. */
const MOST_PREFERENCES = 20;

/** The language of the pages for a browser, by its `Accept-Language`; English where it names none. */
export function pageLanguage(accepted: string | undefined): Language {
  const wanted = (accepted ?? "").split(",", MOST_PREFERENCES).map((entry) => {
    const [tag = "", ...parameters] = entry.trim().toLowerCase().split(";");
    const quality = parameters.map((each) => /^\s*q=([\d.]+)$/.exec(each)?.[1]).find(Boolean);
    return { language: tag.split("-")[0], quality: Number(quality ?? 1) };
  });
  const known = wanted.filter(({ language, quality }) =>
    (language === "en" || language === "de") && quality > 0
  );
  const [best] = known.sort((a, b) => b.quality - a.quality);
  return best?.language === "de" ? "de" : "en";
}

/** Why something failed: in both languages where it has a reason, otherwise in English. */
export function failureText(error: ConnectError): Text {
  const english = sentence(error.rawMessage);
  const given = reasonOf(error);
  return [english, given ? reasonText(given)[1] : english];
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
