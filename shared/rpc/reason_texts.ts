import type { Reason, ReasonGiven } from "./reasons.ts";

/** The languages of the pages, in the order of their texts. */
export const LANGUAGES = ["en", "de"] as const;
export type Language = (typeof LANGUAGES)[number];

/** A text in each of {@link LANGUAGES}. */
export type Text = readonly [en: string, de: string];

/** Why the cloud refused a call; places are the values of the reason. */
export const reasons = {
  ADDRESS_UNVERIFIED: [
    "The issuer of your sign-in has not verified your e-mail address. Have it verified there, or " +
    "sign in another way and link the account.",
    "Ihr Anmeldedienst hat Ihre E-Mail-Adresse nicht bestätigt. Lassen Sie sie dort bestätigen, " +
    "oder melden Sie sich anders an und verknüpfen Sie das Konto.",
  ],
  ARGUMENT_INVALID: [
    "The script cannot get the argument “{key}”. Allowed are letters, digits, - and _ in its name, " +
    "100 of them at most, and not what the cloud itself gives each script.",
    "Das Skript kann das Argument „{key}“ nicht bekommen. Im Namen sind Buchstaben, Ziffern, - und " +
    "_ erlaubt, höchstens 100, und nichts, was die Cloud jedem Skript selbst gibt.",
  ],
  BOXES_WRONG: [
    "{wrong} of the {boxes} boxes with these labels have no size or leave the image. Correct or " +
    "remove them.",
    "{wrong} der {boxes} Rahmen mit diesen Labels haben keine Größe oder ragen aus dem Bild. " +
    "Korrigieren oder entfernen Sie sie.",
  ],
  CALL_SLOW: [
    "It took too long and was stopped. Try again in a moment.",
    "Es hat zu lange gedauert und wurde abgebrochen. Versuchen Sie es gleich noch einmal.",
  ],
  CHANGED_MEANWHILE: [
    "Somebody changed this meanwhile, perhaps you in another window. Reload to see the present " +
    "state.",
    "Das wurde inzwischen geändert, vielleicht von Ihnen in einem anderen Fenster. Laden Sie neu, " +
    "um den Stand zu sehen.",
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
  COLUMNS_MANY: [
    "The readings have more than {most} fields, too many for columns. Export them as JSON lines.",
    "Die Messwerte haben mehr als {most} Felder, zu viele für Spalten. Exportieren Sie sie als " +
    "JSON-Zeilen.",
  ],
  COMMANDS_WAIT: [
    "{most} commands wait for this machine already. Wait until it has taken them.",
    "{most} Befehle warten schon auf diese Maschine. Warten Sie, bis sie abgeholt sind.",
  ],
  CONFIG_REFUSED: [
    "The configuration was not saved: {problem}",
    "Die Konfiguration wurde nicht gespeichert: {problem}",
  ],
  COUNT_INVALID: ["The number must be {least} or more.", "Die Zahl muss mindestens {least} sein."],
  DATASET_OF_SEQUENCES: [
    "The dataset “{name}” holds sequences. Add images to another one.",
    "Der Datensatz „{name}“ enthält Sequenzen. Fügen Sie Bilder einem anderen hinzu.",
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
  DOMAIN_REFUSED: [
    "This cloud admits only verified addresses of {domains}.",
    "Diese Cloud lässt nur bestätigte Adressen von {domains} zu.",
  ],
  EMAIL_INVALID: [
    "“{email}” is no e-mail address.",
    "„{email}“ ist keine E-Mail-Adresse.",
  ],
  FILE_GONE: [
    "The file {id} is not there any more, or not whole.",
    "Die Datei {id} ist nicht mehr oder nur noch teilweise da.",
  ],
  FRAGMENT_REFUSED: [
    "The fragment was not saved: {problem}",
    "Das Fragment wurde nicht gespeichert: {problem}",
  ],
  FRAGMENT_TAG_INVALID: [
    "“{tag}” cannot be a tag. Allowed are a-z, 0-9, _ and -, neither a digit nor v first, 60 " +
    "characters at most.",
    "„{tag}“ kann kein Tag sein. Erlaubt sind a-z, 0-9, _ und -, zuerst weder eine Ziffer noch v, " +
    "höchstens 60 Zeichen.",
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
  INTERNAL: [
    "Internal error; the cloud's log has it under {id}.",
    "Interner Fehler; im Log der Cloud steht er unter {id}.",
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
  LABELS_FEW: [
    "It takes {least} labels at least to tell images apart.",
    "Um Bilder zu unterscheiden, braucht es mindestens {least} Labels.",
  ],
  LABELS_UNUSED: [
    "No image of the dataset can be trained with {labels}. Label some, or leave these out.",
    "Kein Bild des Datensatzes eignet sich für {labels}. Beschriften Sie welche, oder lassen Sie " +
    "diese weg.",
  ],
  LABEL_INVALID: [
    "“{label}” cannot be a label, or is named twice. A label has 1 to {most} characters.",
    "„{label}“ kann kein Label sein oder ist doppelt genannt. Ein Label hat 1 bis {most} Zeichen.",
  ],
  LAST_OWNER: [
    "The organisation would be without an owner. Make somebody else owner first.",
    "Die Organisation wäre ohne Besitzer. Machen Sie zuerst jemand anderen zum Besitzer.",
  ],
  LIMIT_REACHED: [
    "You have {most} of these already, and no more are allowed. Remove one first.",
    "Sie haben davon schon {most}, und mehr sind nicht erlaubt. Entfernen Sie zuerst eines.",
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
  MISSING: ["“{field}” is missing.", "„{field}“ fehlt."],
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
    "“{name}” cannot be a name. Allowed are letters, digits, - and _, a letter or digit first, {most} " +
    "characters at most.",
    "„{name}“ kann kein Name sein. Erlaubt sind Buchstaben, Ziffern, - und _, zuerst ein Buchstabe oder " +
    "eine Ziffer, höchstens {most} Zeichen.",
  ],
  NAME_TAKEN: [
    "Another one here is named “{name}”.",
    "„{name}“ heißt hier schon etwas anderes.",
  ],
  NAME_UNKNOWN: ["There is no “{name}” here (any more).", "„{name}“ gibt es hier nicht (mehr)."],
  NOT_CONNECTED: [
    "There is no connection to the machine just now.",
    "Zur Maschine besteht gerade keine Verbindung.",
  ],
  NOT_FOUND: ["Nothing has the id {id}.", "Nichts hat die ID {id}."],
  NOT_GZIP: [
    "The file is no gzipped tar, as tar -czf FILE.tar.gz makes it.",
    "Die Datei ist kein mit gzip gepacktes tar, wie es tar -czf DATEI.tar.gz erzeugt.",
  ],
  NOT_INVITED: [
    "Nobody with the address {email} is invited here. Ask an owner for an invitation.",
    "Unter der Adresse {email} ist hier niemand eingeladen. Bitten Sie einen Besitzer um eine " +
    "Einladung.",
  ],
  NO_CONNECTION: [
    "This browser and the machine found no way to one another. Where routers or firewalls are " +
    "between them, the cloud needs a STUN or TURN server.",
    "Dieser Browser und die Maschine fanden keinen Weg zueinander. Wo Router oder Firewalls " +
    "dazwischen sind, braucht die Cloud einen STUN- oder TURN-Server.",
  ],
  NO_MAIL: [
    "This cloud sends no mail. Ask its operator for a link: machine-cloud reset-password EMAIL",
    "Diese Cloud verschickt keine E-Mails. Bitten Sie den Betreiber um einen Link: " +
    "machine-cloud reset-password EMAIL",
  ],
  NO_ROLLOUT: [
    "Release {version} has no rollout: every machine of its channel gets it. Withdraw it to stop " +
    "that.",
    "Release {version} wird nicht schrittweise verteilt: Jede Maschine des Kanals bekommt es. " +
    "Ziehen Sie es zurück, um das zu stoppen.",
  ],
  NUL_CHARACTER: [
    "A text holds the character U+0000, which cannot be kept.",
    "Ein Text enthält das Zeichen U+0000, das nicht gespeichert werden kann.",
  ],
  NUMBER_INVALID: [
    "Give a number from {least} to {most}.",
    "Geben Sie eine Zahl von {least} bis {most} an.",
  ],
  OFFLINE: [
    "The machine is offline. Check that it is switched on and has a network.",
    "Die Maschine ist offline. Prüfen Sie, ob sie eingeschaltet ist und Netz hat.",
  ],
  OPERATOR_NEEDED: [
    "Releases are kept by the owners of the cloud's first organisation.",
    "Releases verwalten die Besitzer der ersten Organisation der Cloud.",
  ],
  OTHER_ORGANIZATION: [
    "{name} belongs to another organisation, and nothing moves between two.",
    "{name} gehört einer anderen Organisation, und zwischen zweien wird nichts verschoben.",
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
  PATH_INVALID: [
    "“{path}” is no path of a file in the archive. Give one relative to its root.",
    "„{path}“ ist kein Pfad einer Datei im Archiv. Geben Sie einen relativ zu dessen Wurzel an.",
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
  PROGRAM_OTHER_PLATFORM: [
    "The file is no whole program for {platform}.",
    "Die Datei ist kein vollständiges Programm für {platform}.",
  ],
  QUERY_LARGE: [
    "The query gives too much or needs too much memory. Narrow it, or add a LIMIT.",
    "Die Abfrage ergibt zu viel oder braucht zu viel Speicher. Grenzen Sie sie ein, oder setzen Sie " +
    "ein LIMIT.",
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
  RELEASE_IN_USE: [
    "{users} run release {version} or are pinned to it. Withdraw it instead.",
    "{users}: Dort läuft Release {version} oder ist fest eingestellt. Ziehen Sie es stattdessen " +
    "zurück.",
  ],
  RELEASE_KEY_UNUSABLE: [
    "The cloud cannot use its release key. Ask its operator.",
    "Die Cloud kann ihren Release-Schlüssel nicht benutzen. Fragen Sie den Betreiber.",
  ],
  RELEASE_ON_CHANNEL: [
    "Release {version} is on the channel {channel}. Promote it to move it.",
    "Release {version} ist im Kanal {channel}. Zum Verschieben befördern Sie es.",
  ],
  RELEASE_THERE: [
    "Release {version} is there already. Change there who gets it.",
    "Release {version} gibt es schon. Ändern Sie dort, wer es bekommt.",
  ],
  RIGHT_MISSING: ["Your role does not allow it.", "Ihre Rolle erlaubt es nicht."],
  ROLE_PRESENT: [
    "There is a role here already. Change that one.",
    "Hier gibt es schon eine Rolle. Ändern Sie diese.",
  ],
  SAVED_MEANWHILE: [
    "Somebody saved at {at}, after the state that you changed.",
    "Jemand hat um {at} gespeichert, nach dem Stand, den Sie geändert haben.",
  ],
  SCHEMA_INVALID: [
    "The schema of {name} is no JSON Schema that the cloud can use.",
    "Das Schema von {name} ist kein JSON Schema, das die Cloud benutzen kann.",
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
  STORAGE_AWAY: [
    "The cloud's storage does not answer just now; nothing was saved. Try again later.",
    "Der Speicher der Cloud antwortet gerade nicht; nichts wurde gespeichert. Versuchen Sie es " +
    "später erneut.",
  ],
  TAG_INVALID: [
    "“{tag}” cannot be a tag. Allowed are letters, digits, - and _, a letter or digit first, {most} " +
    "characters at most.",
    "„{tag}“ kann kein Tag sein. Erlaubt sind Buchstaben, Ziffern, - und _, zuerst ein Buchstabe " +
    "oder eine Ziffer, höchstens {most} Zeichen.",
  ],
  TITLE_INVALID: [
    "A name has 1 to {most} characters, and no control characters.",
    "Ein Name hat 1 bis {most} Zeichen und keine Steuerzeichen.",
  ],
  TOO_LARGE: [
    "It has more than {most} bytes, the most that is taken.",
    "Es hat mehr als {most} Bytes, und mehr wird nicht angenommen.",
  ],
  TOO_LONG: [
    "The text is longer than {most} characters. Shorten it.",
    "Der Text ist länger als {most} Zeichen. Kürzen Sie ihn.",
  ],
  TOO_MANY: [
    "More than {most} are too many at once. Take fewer.",
    "Mehr als {most} auf einmal sind zu viele. Nehmen Sie weniger.",
  ],
  TOO_MANY_ATTEMPTS: [
    "Too many failed attempts came from this address. Wait a minute.",
    "Von dieser Adresse kamen zu viele Fehlversuche. Warten Sie eine Minute.",
  ],
  TOO_MUCH_MATCHES: [
    "More than {most} sources match. Name a location, machine, part or component.",
    "Mehr als {most} Quellen passen. Nennen Sie Standort, Maschine, Part oder Komponente.",
  ],
  TRAININGS_UNFINISHED: [
    "{most} trainings wait or run, and no more are allowed. Cancel some or wait until they finish.",
    "{most} Trainings warten oder laufen, und mehr sind nicht erlaubt. Brechen Sie welche ab oder " +
    "warten Sie, bis sie fertig sind.",
  ],
  TRAINING_OFF: [
    "This cloud trains nothing: its operator has switched training off.",
    "Diese Cloud trainiert nicht: Der Betreiber hat das Training abgeschaltet.",
  ],
  TRIGGER_NOBODY: [
    "The trigger “{name}” notifies nobody: the owners of this machine have no address yet. Add one " +
    "in the organisation's notifications.",
    "Der Trigger „{name}“ benachrichtigt niemanden: Für die Besitzer dieser Maschine ist noch keine " +
    "Adresse eingetragen. Tragen Sie eine unter den Benachrichtigungen der Organisation ein.",
  ],
  TRIGGER_UNUSABLE: [
    "The trigger cannot be used: {problem}",
    "Der Trigger ist nicht verwendbar: {problem}",
  ],
  TRIPLET_INVALID: [
    "“{text}” has not the form of {example}.",
    "„{text}“ hat nicht die Form von {example}.",
  ],
  TRY_LATER: [
    "Too much of this runs at once just now. Try again in a moment.",
    "Davon läuft gerade zu viel auf einmal. Versuchen Sie es gleich noch einmal.",
  ],
  UPLOAD_CUT: [
    "The upload did not arrive whole; nothing was saved. Send it again.",
    "Der Upload kam nicht vollständig an; nichts wurde gespeichert. Senden Sie erneut.",
  ],
  VERSION_EXISTS: [
    "{name} has {version} for {platform} already, and a version is never changed. Give another one.",
    "{name} hat {version} für {platform} schon, und eine Version ändert sich nie. Geben Sie eine andere an.",
  ],
  VERSION_FORM: [
    "“{version}” cannot be a version. Allowed are 1 to 100 letters, digits and . _ + : -, a letter " +
    "or digit first.",
    "„{version}“ kann keine Version sein. Erlaubt sind 1 bis 100 Buchstaben, Ziffern und . _ + : -, " +
    "zuerst ein Buchstabe oder eine Ziffer.",
  ],
  VERSION_INVALID: [
    "“{version}” cannot be a version. Write three numbers as in 1.2.3, or 1.2.3-rc.1, without v in " +
    "front.",
    "„{version}“ kann keine Version sein. Schreiben Sie drei Zahlen wie 1.2.3, oder 1.2.3-rc.1, " +
    "ohne v davor.",
  ],
  VERSION_UNKNOWN: [
    "There is no version {version} (any more).",
    "Die Version {version} gibt es nicht (mehr).",
  ],
  WEB_ADDRESS_INVALID: ["“{url}” is no web address.", "„{url}“ ist keine Webadresse."],
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
