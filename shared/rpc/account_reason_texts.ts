import type { Text } from "./languages.ts";
import type { Reason } from "./reasons.ts";

/** Why people and keys are not let in, invited or changed. */
export const accountReasons = {
  ADDRESS_UNVERIFIED: [
    "The issuer of your sign-in has not verified your e-mail address. Have it verified there, or " +
    "sign in another way and link the account.",
    "Ihr Anmeldedienst hat Ihre E-Mail-Adresse nicht bestätigt. Lassen Sie sie dort bestätigen, " +
    "oder melden Sie sich anders an und verknüpfen Sie das Konto.",
  ],
  CODES_WRONG: [
    "Too many wrong codes were entered for this account. Wait a few minutes.",
    "Für dieses Konto wurden zu viele falsche Codes eingegeben. Warten Sie ein paar Minuten.",
  ],
  CODE_NOT_OF_NOW: [
    "This is not the code of this moment. Is the clock of your device right?",
    "Das ist nicht der Code dieses Augenblicks. Geht die Uhr Ihres Geräts richtig?",
  ],
  CODE_WRONG: [
    "The code is wrong, was used already, or is too old.",
    "Der Code ist falsch, wurde schon benutzt oder ist zu alt.",
  ],
  DOMAIN_REFUSED: [
    "This cloud admits only verified addresses of {domains}.",
    "Diese Cloud lässt nur bestätigte Adressen von {domains} zu.",
  ],
  EMAIL_INVALID: [
    "“{email}” is no e-mail address.",
    "„{email}“ ist keine E-Mail-Adresse.",
  ],
  IDENTITY_OTHER: [
    "Another account of this sign-in is linked here. Unlink it first.",
    "Hier ist schon ein anderes Konto dieses Anmeldedienstes verknüpft. Lösen Sie zuerst diese " +
    "Verknüpfung.",
  ],
  IDENTITY_TAKEN: [
    "This account of the issuer signs somebody else in here.",
    "Mit diesem Konto meldet sich hier schon jemand anderes an.",
  ],
  INVITATIONS_WAIT: [
    "{most} invitations wait already. Withdraw some first.",
    "{most} Einladungen sind schon offen. Ziehen Sie zuerst welche zurück.",
  ],
  INVITATION_OVER: [
    "This invitation was accepted, withdrawn or replaced, or has expired. Ask for another.",
    "Diese Einladung wurde angenommen, zurückgezogen oder ersetzt, oder ist abgelaufen. Bitten Sie um " +
    "eine neue.",
  ],
  INVITED_ALREADY: [
    "{email} is invited already. Send that invitation again.",
    "{email} ist schon eingeladen. Senden Sie diese Einladung erneut.",
  ],
  ISSUER_AWAY: [
    "{name} cannot be reached just now. Sign in with your e-mail address and password, or try again " +
    "later.",
    "{name} ist gerade nicht erreichbar. Melden Sie sich mit E-Mail-Adresse und Passwort an, oder " +
    "versuchen Sie es später.",
  ],
  ISSUER_FAILED: [
    "{name} did not sign you in. Try again.",
    "{name} hat Sie nicht angemeldet. Versuchen Sie es noch einmal.",
  ],
  KEY_OF_TRAINING: [
    "This key belongs to a training and is revoked with it.",
    "Dieser Schlüssel gehört zu einem Training und wird mit ihm widerrufen.",
  ],
  KEY_TOO_STRONG: [
    "Only an owner of everything that a key opens can give it.",
    "Einen Schlüssel kann nur vergeben, wer Besitzer von allem ist, was er öffnet.",
  ],
  KEY_WRONG: [
    "The key or its ID is wrong, or was revoked.",
    "Der Schlüssel oder seine ID ist falsch oder wurde widerrufen.",
  ],
  LAST_OWNER: [
    "The organisation would be without an owner. Make somebody else owner first.",
    "Die Organisation wäre ohne Besitzer. Machen Sie zuerst jemand anderen zum Besitzer.",
  ],
  LINK_OF_OTHER: [
    "You are signed in as {email}, and the link is that of {link_email}.",
    "Sie sind als {email} angemeldet, und der Link gehört {link_email}.",
  ],
  LINK_OVER: [
    "This link was used, replaced or has expired. Request another.",
    "Dieser Link wurde benutzt oder ersetzt, oder ist abgelaufen. Fordern Sie einen neuen an.",
  ],
  MAIL_REFUSED: [
    "The invitation is kept, but the mail server did not take the mail. Send it again later. It " +
    "answered: {problem}",
    "Die Einladung ist gespeichert, aber der Mailserver hat die E-Mail nicht angenommen. Senden Sie " +
    "sie später erneut. Er antwortete: {problem}",
  ],
  MEMBER_ALREADY: [
    "{email} is a member already. Give more rights there.",
    "{email} ist schon Mitglied. Vergeben Sie dort weitere Rechte.",
  ],
  NOT_INVITED: [
    "Nobody with the address {email} is invited here. Ask an owner for an invitation.",
    "Unter der Adresse {email} ist hier niemand eingeladen. Bitten Sie einen Besitzer um eine " +
    "Einladung.",
  ],
  NO_MAIL: [
    "This cloud sends no mail. Ask its operator for a link: machine-cloud reset-password EMAIL",
    "Diese Cloud verschickt keine E-Mails. Bitten Sie den Betreiber um einen Link: " +
    "machine-cloud reset-password EMAIL",
  ],
  PASSWORD_FIRST: [
    "Set a password first; without one you could not sign in any more.",
    "Setzen Sie zuerst ein Passwort; ohne eines könnten Sie sich nicht mehr anmelden.",
  ],
  PASSWORD_IS_ADDRESS: [
    "The password is your e-mail address. Choose another.",
    "Das Passwort ist Ihre E-Mail-Adresse. Wählen Sie ein anderes.",
  ],
  PASSWORD_LONG: [
    "The password has more than {most} characters.",
    "Das Passwort hat mehr als {most} Zeichen.",
  ],
  PASSWORD_SHORT: [
    "The password needs at least {least} characters.",
    "Das Passwort braucht mindestens {least} Zeichen.",
  ],
  PASSWORD_SIMPLE: [
    "The password has fewer than 3 different characters.",
    "Das Passwort hat weniger als 3 verschiedene Zeichen.",
  ],
  PERSON_NEEDED: [
    "This is for people who signed in with a password or link; you signed in with a key.",
    "Das ist für Menschen, die sich mit Passwort oder Link angemeldet haben; Sie sind mit einem " +
    "Schlüssel angemeldet.",
  ],
  PROGRAM_LINK_WRONG: [
    "This is no request of a program on this host. Sign in with: machine login",
    "Das ist keine Anfrage eines Programms auf diesem Rechner. Melden Sie sich an mit: machine " +
    "login",
  ],
  ROLE_PRESENT: [
    "There is a role here already. Change that one.",
    "Hier gibt es schon eine Rolle. Ändern Sie diese.",
  ],
  SESSION_OVER: [
    "Your sign-in does not count any more. Sign in again.",
    "Ihre Anmeldung gilt nicht mehr. Melden Sie sich erneut an.",
  ],
  SIGN_IN_OVER: [
    "This sign-in was finished, was begun in another browser, or took too long. Begin again.",
    "Diese Anmeldung ist abgeschlossen, wurde in einem anderen Browser begonnen oder hat zu lange " +
    "gedauert. Beginnen Sie von vorn.",
  ],
  SIGN_IN_WRONG: [
    "The e-mail address or the password is wrong.",
    "Die E-Mail-Adresse oder das Passwort ist falsch.",
  ],
} as const satisfies Readonly<Partial<Record<Reason, Text>>>;
