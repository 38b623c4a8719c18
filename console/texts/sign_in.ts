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
  forgotten: ["Forgotten your password?", "Passwort vergessen?"],
  resetSent: [
    "If there is an account with that address, a link to set a new password is on its way to it.",
    "Gibt es ein Konto mit dieser Adresse, ist ein Link zum Setzen eines neuen Passworts unterwegs dorthin.",
  ],
  resetNeeds: [
    "Enter your e-mail address above; the link is sent to it.",
    "Geben Sie oben Ihre E-Mail-Adresse ein; der Link geht dorthin.",
  ],
  resetByOperator: [
    "This cloud sends no mail. Ask who runs it for a link; this prints one:",
    "Diese Cloud verschickt keine E-Mails. Bitten Sie den Betreiber um einen Link; das gibt einen aus:",
  ],
  submit: ["Sign in", "Anmelden"],
  withSso: ["Sign in with {name}", "Mit {name} anmelden"],
} as const satisfies Texts;
