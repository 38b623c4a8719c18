import type { Reason, ReasonGiven } from "./reasons.ts";

/** The languages of the pages, in the order of their texts. */
export const LANGUAGES = ["en", "de"] as const;
export type Language = (typeof LANGUAGES)[number];

/** A text in each of {@link LANGUAGES}. */
export type Text = readonly [en: string, de: string];

/** Why the cloud refused a call; places are the values of the reason. */
export const reasons = {
  CODES_WRONG: [
    "Too many wrong codes were entered for this account. Wait a few minutes.",
    "Für dieses Konto wurden zu viele falsche Codes eingegeben. Warten Sie ein paar Minuten.",
  ],
  CODE_WRONG: [
    "The code is wrong, was used already, or is too old.",
    "Der Code ist falsch, wurde schon benutzt oder ist zu alt.",
  ],
  COMMANDS_WAIT: [
    "{most} commands wait for this machine already. Wait until it has taken them.",
    "{most} Befehle warten schon auf diese Maschine. Warten Sie, bis sie abgeholt sind.",
  ],
  CONFIG_REFUSED: [
    "The configuration was not saved: {problem}",
    "Die Konfiguration wurde nicht gespeichert: {problem}",
  ],
  DATASET_SMALL: [
    "The dataset has {images} images, and training needs {least} at least. Add some.",
    "Der Datensatz hat {images} Bilder, und ein Training braucht mindestens {least}. Fügen Sie welche " +
    "hinzu.",
  ],
  DATASET_UNLABELLED: [
    "{labelled} of the {images} images have labels of this kind, and training needs {least}. Label " +
    "more of them.",
    "{labelled} der {images} Bilder haben Labels dieser Art, und ein Training braucht {least}. " +
    "Beschriften Sie mehr davon.",
  ],
  DESCRIPTION_NEEDED: [
    "What everybody may see needs a description.",
    "Was alle sehen dürfen, braucht eine Beschreibung.",
  ],
  DISK_FULL: [
    "The cloud's disk is full; nothing was saved. Free space there and try again.",
    "Die Festplatte der Cloud ist voll; nichts wurde gespeichert. Schaffen Sie dort Platz und " +
    "versuchen Sie es erneut.",
  ],
  EMAIL_INVALID: [
    "“{email}” is no e-mail address.",
    "„{email}“ ist keine E-Mail-Adresse.",
  ],
  FRAGMENT_REFUSED: [
    "The fragment was not saved: {problem}",
    "Das Fragment wurde nicht gespeichert: {problem}",
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
  IN_USE: [
    "{name} is in use by {users}. Take it out of their configurations first.",
    "{name} wird verwendet von {users}. Entfernen Sie es zuerst aus deren Konfigurationen.",
  ],
  KEY_TOO_STRONG: [
    "Only an owner of everything that a key opens can give it.",
    "Einen Schlüssel kann nur vergeben, wer Besitzer von allem ist, was er öffnet.",
  ],
  LABELS_FEW: [
    "It takes {least} labels at least to tell images apart.",
    "Um Bilder zu unterscheiden, braucht es mindestens {least} Labels.",
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
  LOCATION_NOT_EMPTY: [
    "There is something in {name}: {content}. Move or delete it first.",
    "In {name} ist noch etwas: {content}. Verschieben oder löschen Sie das zuerst.",
  ],
  LOCATION_TOO_DEEP: [
    "At most {most} locations may be within one another.",
    "Höchstens {most} Standorte dürfen ineinander liegen.",
  ],
  LOCATION_WITHIN_ITSELF: [
    "{name} would be within itself. Choose a location that is not in it.",
    "{name} läge in sich selbst. Wählen Sie einen Standort, der nicht darin liegt.",
  ],
  MEMBER_ALREADY: [
    "{email} is a member already. Give more rights there.",
    "{email} ist schon Mitglied. Vergeben Sie dort weitere Rechte.",
  ],
  MODEL_EXISTS: [
    "{name} has the version {version} already, and a version is never changed. Give another one.",
    "{name} hat die Version {version} schon, und eine Version ändert sich nie. Geben Sie eine andere an.",
  ],
  NAMESPACE_NEEDED: [
    "Others name it by the namespace of the organisation, which has none yet. Set one: " +
    "machine-cloud module namespace NAME",
    "Andere benennen es mit dem Namensraum der Organisation, und die hat noch keinen. Setzen Sie " +
    "einen: machine-cloud module namespace NAME",
  ],
  NAME_INVALID: [
    "“{name}” cannot be a name. Allowed are letters, digits, - and _, a letter or digit first, 60 " +
    "characters at most.",
    "„{name}“ kann kein Name sein. Erlaubt sind Buchstaben, Ziffern, - und _, zuerst ein Buchstabe oder " +
    "eine Ziffer, höchstens 60 Zeichen.",
  ],
  NAME_TAKEN: [
    "Another one here is named “{name}”.",
    "„{name}“ heißt hier schon etwas anderes.",
  ],
  NOT_FOUND: ["Nothing has the id {id}.", "Nichts hat die ID {id}."],
  NO_MAIL: [
    "This cloud sends no mail. Ask its operator for a link: machine-cloud reset-password EMAIL",
    "Diese Cloud verschickt keine E-Mails. Bitten Sie den Betreiber um einen Link: " +
    "machine-cloud reset-password EMAIL",
  ],
  OWNER_NEEDED: ["It takes an owner.", "Dazu muss man Besitzer sein."],
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
  QUERY_SLOW: [
    "The query took longer than {seconds} s and was ended. Narrow it: name a component_name, and a " +
    "span of received_us (microseconds since 1970).",
    "Die Abfrage dauerte länger als {seconds} s und wurde beendet. Grenzen Sie sie ein: Nennen Sie " +
    "component_name und eine Spanne von received_us (Mikrosekunden seit 1970).",
  ],
  QUERY_WRONG: ["The query is wrong: {problem}", "Die Abfrage ist falsch: {problem}"],
  QUOTA_REACHED: [
    "The organisation may store {bytes} bytes of data, and with this it would have more; nothing was " +
    "saved. Delete data or raise the limit.",
    "Die Organisation darf {bytes} Bytes speichern, und damit wären es mehr; nichts wurde gespeichert. " +
    "Löschen Sie Daten oder erhöhen Sie die Grenze.",
  ],
  RIGHT_MISSING: ["Your role does not allow it.", "Ihre Rolle erlaubt es nicht."],
  SAVED_MEANWHILE: [
    "Somebody saved at {at}, after the state that you changed.",
    "Jemand hat um {at} gespeichert, nach dem Stand, den Sie geändert haben.",
  ],
  SIGN_IN_WRONG: [
    "The e-mail address or the password is wrong.",
    "Die E-Mail-Adresse oder das Passwort ist falsch.",
  ],
  TOO_MANY_ATTEMPTS: [
    "Too many failed attempts came from this address. Wait a minute.",
    "Von dieser Adresse kamen zu viele Fehlversuche. Warten Sie eine Minute.",
  ],
  TRAININGS_UNFINISHED: [
    "{most} trainings wait or run, and no more are allowed. Cancel some or wait until they finish.",
    "{most} Trainings warten oder laufen, und mehr sind nicht erlaubt. Brechen Sie welche ab oder " +
    "warten Sie, bis sie fertig sind.",
  ],
  TRIGGER_UNUSABLE: [
    "The trigger cannot be used: {problem}",
    "Der Trigger ist nicht verwendbar: {problem}",
  ],
  TRY_LATER: [
    "Too much of this runs at once just now. Try again in a moment.",
    "Davon läuft gerade zu viel auf einmal. Versuchen Sie es gleich noch einmal.",
  ],
  VERSION_EXISTS: [
    "{name} has {version} for {platform} already, and a version is never changed. Give another one.",
    "{name} hat {version} für {platform} schon, und eine Version ändert sich nie. Geben Sie eine andere an.",
  ],
} as const satisfies Readonly<Record<Reason, Text>>;

/** A reason in words, in each language. */
export function reasonText({ reason, values }: ReasonGiven): Text {
  return withValues(reasons[reason], values);
}

/** A text with its places filled, in each language. */
export function withValues([en, de]: Text, values: Readonly<Record<string, string>>): Text {
  const filled = (text: string) =>
    text.replaceAll(/\{(\w+)\}/g, (place, name) => values[name] ?? place);
  return [filled(en), filled(de)];
}
