import type { Texts } from "./text.ts";

/** The page on which people sign in. */
export const signIn = {
  title: ["Sign in", "Anmelden"],
  ended: [
    "Your session has ended. Sign in again.",
    "Ihre Sitzung ist beendet. Melden Sie sich erneut an.",
  ],
  asPerson: ["E-mail and password", "E-Mail und Passwort"],
  asKey: ["API key", "API-Schlüssel"],
  email: ["E-mail address", "E-Mail-Adresse"],
  password: ["Password", "Passwort"],
  code: ["Code of your authenticator", "Code Ihrer Authenticator-App"],
  codeHint: [
    "Six digits, or one of your recovery codes",
    "Sechs Ziffern oder einer Ihrer Wiederherstellungscodes",
  ],
  keyId: ["Key id", "Schlüssel-ID"],
  key: ["Key", "Schlüssel"],
  keyHint: [
    "Of your organisation, a location or a machine. It is forgotten when you close this tab.",
    "Ihrer Organisation, eines Standorts oder einer Maschine. Er wird beim Schließen des Tabs vergessen.",
  ],
  wrongKey: [
    "The key id and the key do not belong together. Check both.",
    "Schlüssel-ID und Schlüssel passen nicht zusammen. Prüfen Sie beides.",
  ],
  wrongPassword: [
    "The address, the password or the code is wrong. Check them.",
    "Adresse, Passwort oder Code ist falsch. Prüfen Sie die Angaben.",
  ],
  submit: ["Sign in", "Anmelden"],
  withSso: ["Sign in with {name}", "Mit {name} anmelden"],
} as const satisfies Texts;
