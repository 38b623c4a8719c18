import { accountReasons } from "./account_reason_texts.ts";
import { withClosedDirections } from "./directions.ts";
import { type Language, LANGUAGES, type Text } from "./languages.ts";
import type { Reason, ReasonGiven } from "./reasons.ts";

export { type Language, LANGUAGES, type Text };

/** Why the cloud refused a call; places are the values of the reason. */
export const reasons = {
  ...accountReasons,
  ARCHIVE_OF_OTHER: [
    "This is an archive of {name}, as its meta.json says.",
    "Das ist ein Archiv von {name}, wie seine meta.json sagt.",
  ],
  ARCHIVE_WRONG: [
    "{file} is no whole archive with files in it. Make it with: tar -czf FILE.tar.gz -C FOLDER .",
    "{file} ist kein vollständiges Archiv mit Dateien darin. Erzeugen Sie es mit: tar -czf " +
    "DATEI.tar.gz -C ORDNER .",
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
  ENTRYPOINT_NEEDED: [
    "The archive has no meta.json with an entrypoint, so nobody knows which of its programs " +
    "starts the module. Add one.",
    "Das Archiv hat keine meta.json mit einem entrypoint; so ist unbekannt, welches Programm das " +
    "Modul startet. Fügen Sie eine hinzu.",
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
  INTERNAL: [
    "Internal error; the cloud's log has it under {id}.",
    "Interner Fehler; im Log der Cloud steht er unter {id}.",
  ],
  IN_USE: [
    "{name} is in use by {users}. Take it out of their configurations first.",
    "{name} wird verwendet von {users}. Entfernen Sie es zuerst aus deren Konfigurationen.",
  ],
  LABELS_FEW: [
    "The training needs more labels: {least} at least.",
    "Das Training braucht mehr Labels: mindestens {least}.",
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
  LIMIT_REACHED: [
    "You have {most} of these already, and no more are allowed. Remove one first.",
    "Sie haben davon schon {most}, und mehr sind nicht erlaubt. Entfernen Sie zuerst eines.",
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
  META_WRONG: [
    "The meta.json does not fit the archive: its entrypoint, models and schemas must be in the " +
    "right form, and the files that it names in the archive.",
    "Die meta.json passt nicht zum Archiv: entrypoint, models und Schemas brauchen die richtige " +
    "Form, und die genannten Dateien müssen im Archiv sein.",
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
    "Another one here is named “{name}”. Choose another name.",
    "„{name}“ heißt hier schon etwas anderes. Wählen Sie einen anderen Namen.",
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
  NO_CONNECTION: [
    "This browser and the machine found no way to one another. Where routers or firewalls are " +
    "between them, the cloud needs a STUN or TURN server.",
    "Dieser Browser und die Maschine fanden keinen Weg zueinander. Wo Router oder Firewalls " +
    "dazwischen sind, braucht die Cloud einen STUN- oder TURN-Server.",
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
  PATH_INVALID: [
    "“{path}” is no path of a file in the archive. Give one relative to its root.",
    "„{path}“ ist kein Pfad einer Datei im Archiv. Geben Sie einen relativ zu dessen Wurzel an.",
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
    "The query took longer than {seconds} s and was cancelled. Narrow it: name a component_name, and a " +
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
  SAVED_MEANWHILE: [
    "Somebody saved at {at}, after the state that you changed.",
    "Jemand hat um {at} gespeichert, nach dem Stand, den Sie geändert haben.",
  ],
  SCHEMA_INVALID: [
    "The schema of {name} is no JSON Schema that the cloud can use.",
    "Das Schema von {name} ist kein JSON Schema, das die Cloud benutzen kann.",
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
    text.replaceAll(/\{(\w+)\}/g, (place, name) => {
      const value = values[name];
      return value === undefined ? place : withClosedDirections(value);
    });
  return [filled(en), filled(de)];
}
