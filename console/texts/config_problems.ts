import type { Texts } from "./text.ts";

/** What the checks of a configuration report of a value at its place. */
export const configProblems = {
  whole: [
    "The configuration must be an object, in { }.",
    "Die Konfiguration muss ein Objekt sein, in { }.",
  ],
  kinds: ["{at} must be one of: {allowed}.", "{at} muss eines davon sein: {allowed}."],
  text: ["text", "Text"],
  number: ["number", "Zahl"],
  wholeNumber: ["whole number", "ganze Zahl"],
  boolean: ["true or false", "true oder false"],
  list: ["list", "Liste"],
  object: ["object", "Objekt"],
  wrong: ["{at} cannot be used so.", "{at} ist so nicht verwendbar."],
  negative: ["{at} must not be negative.", "{at} darf nicht negativ sein."],
  outside: [
    "{at} is out of range; allowed: {allowed}.",
    "{at} liegt außerhalb des Erlaubten: {allowed}.",
  ],
  reserved: [
    "{at}: this name is reserved; choose another.",
    "{at}: Dieser Name ist reserviert; wählen Sie einen anderen.",
  ],
  reloadNeeds: [
    "{at}: reload_enabled needs the path of the program that is to run.",
    "{at}: reload_enabled braucht den Pfad des Programms, das laufen soll.",
  ],
  needsProgram: [
    "{at}: a local module needs the path of its program.",
    "{at}: Ein lokales Modul braucht den Pfad seines Programms.",
  ],
  needsModuleId: [
    "{at}: a module of the registry needs its id, namespace:name.",
    "{at}: Ein Modul der Registry braucht seine Id, namespace:name.",
  ],
  empty: ["{at} is empty.", "{at} ist leer."],
  absent: ["{at} is missing; allowed: {allowed}.", "{at} fehlt; erlaubt: {allowed}."],
  absentPlain: ["{at} is missing.", "{at} fehlt."],
  other: ["{at} must be: {allowed}.", "{at} muss sein: {allowed}."],
  parent: [
    "{at}: the frame needs its parent, such as world.",
    "{at}: Das Frame braucht sein übergeordnetes, etwa world.",
  ],
  remoteAddress: [
    "{at}: the address is missing, host or host:port.",
    "{at}: Die Adresse fehlt, Host oder Host:Port.",
  ],
  signal: ["{at} is not a signal, such as SIGTERM.", "{at} ist kein Signal, etwa SIGTERM."],
  noSchedule: [
    "{at} is not a schedule: a duration such as 5m, a cron expression of 5 or 6 fields, or continuous.",
    "{at} ist kein Zeitplan: eine Dauer wie 5m, ein Cron-Ausdruck aus 5 oder 6 Feldern oder continuous.",
  ],
  interval: ["{at} must be longer than 0.", "{at} muss länger als 0 sein."],
  timeZone: ["{at}: {zone} is not a time zone.", "{at}: {zone} ist keine Zeitzone."],
  pattern: [
    "{at}: the pattern cannot be read: {why}. An example is rdk:component:*",
    "{at}: Das Muster ist nicht lesbar: {why}. Ein Beispiel ist rdk:component:*",
  ],
  fullName: [
    "{at} must be the full name of a sensor, rdk:component:sensor/NAME.",
    "{at} muss der volle Name eines Sensors sein, rdk:component:sensor/NAME.",
  ],
  noCredentials: [
    "{at}: there are no credentials; give secret, or api_key with id and key.",
    "{at}: Es gibt keine Zugangsdaten; geben Sie secret an, oder api_key mit id und key.",
  ],
  both: [
    "{at} is missing while the other is set; give both tls_cert_file and tls_key_file or none.",
    "{at} fehlt, obwohl das andere gesetzt ist; geben Sie tls_cert_file und tls_key_file beide an oder keines.",
  ],
  addressPort: ["{at} must be an address with port.", "{at} muss eine Adresse mit Port sein."],
  hostName: ["{at} is not a host name.", "{at} ist kein Hostname."],
  origin: [
    "{at} is not the origin of a page, such as https://example.com.",
    "{at} ist kein Ursprung einer Seite, etwa https://example.com.",
  ],
  port: ["{at} must be a port, 1 to 65535.", "{at} muss ein Port sein, 1 bis 65535."],
  noKeys: ["{at}: there are no keys.", "{at}: Es gibt keine Schlüssel."],
  orientation: [
    "{at}: an orientation of type {type} needs its numbers.",
    "{at}: Eine Ausrichtung der Art {type} braucht ihre Zahlen.",
  ],
  noDirection: [
    "{at}: x, y and z are all 0; give a direction, such as z: 1.",
    "{at}: x, y und z sind alle 0; geben Sie eine Richtung an, etwa z: 1.",
  ],
  regex: [
    "{at}: the regular expression cannot be read: {why}.",
    "{at}: Der reguläre Ausdruck ist nicht lesbar: {why}.",
  ],
  regexLong: [
    "{at}: the regular expression is too long.",
    "{at}: Der reguläre Ausdruck ist zu lang.",
  ],
  regexText: ["{at}: regex compares with a text.", "{at}: regex vergleicht mit einem Text."],
  nameLong: ["{at}: the name is too long.", "{at}: Der Name ist zu lang."],
  nobody: [
    "{at}: nobody is notified; enter somebody.",
    "{at}: Niemand wird benachrichtigt; tragen Sie jemanden ein.",
  ],
  noData: [
    "{at}: choose the kinds of data: binary, tabular, file.",
    "{at}: Wählen Sie die Arten von Daten: binary, tabular, file.",
  ],
  noLevel: [
    "{at}: choose the levels: error, warn, info.",
    "{at}: Wählen Sie die Stufen: error, warn, info.",
  ],
  noCondition: ["{at}: the condition is missing.", "{at}: Die Bedingung fehlt."],
  method: [
    "{at} does not name a method of a component.",
    "{at} nennt keine Methode einer Komponente.",
  ],
  tooMany: ["{at} has {found}; that is too many.", "{at}: Das sind zu viele ({found})."],
  noValue: [
    "{at}: the value to compare with is missing.",
    "{at}: Der Wert fehlt, mit dem verglichen wird.",
  ],
  noField: ["{at}: the object names no field.", "{at}: Das Objekt nennt kein Feld."],
  notComparable: [
    "{name} is {kind}, which cannot be compared.",
    "{name} ist {kind} und nicht vergleichbar.",
  ],
  notANumber: ["{name} is not a number (NaN).", "{name} ist keine Zahl (NaN)."],
  otherKind: [
    "{name} is {kind}, the condition has {wanted}.",
    "{name} ist {kind}; in der Bedingung steht {wanted}.",
  ],
  noOrder: [
    "{operator} cannot compare with true or false.",
    "{operator} kann nicht mit true oder false vergleichen.",
  ],
  muchText: [
    "{name} has {n} characters, too much for this pattern together with what came with it.",
    "{name} hat {n} Zeichen, zu viel für dieses Muster zusammen mit dem, was mitkam.",
  ],
  onlyValue: ["The reading's value", "Der Wert des Messwerts"],
  aList: ["a list", "eine Liste"],
  anObject: ["an object", "ein Objekt"],
  aNumber: ["a number", "eine Zahl"],
  aText: ["a text", "ein Text"],
  incomparable: [
    "{at} cannot be compared; give a number, a text, true or false.",
    "{at} ist nicht vergleichbar; geben Sie eine Zahl, einen Text, true oder false an.",
  ],
  operator: [
    "{at}: {operator} cannot compare with true or false; use eq or neq.",
    "{at}: {operator} vergleicht nicht mit true oder false; nehmen Sie eq oder neq.",
  ],
  webhook: [
    "{at} must be an address that begins with http:// or https://.",
    "{at} muss eine Adresse sein, die mit http:// oder https:// beginnt.",
  ],
  email: ["{at} is not an e-mail address.", "{at} ist keine E-Mail-Adresse."],
  dependencies: [
    "{at}: there are more than {n} dependencies; write full names in depends_on.",
    "{at}: Es sind mehr als {n} Abhängigkeiten; schreiben Sie volle Namen in depends_on.",
  ],
  severalValues: [
    "The reading has several values, and the condition names none of them.",
    "Der Messwert hat mehrere Werte, und die Bedingung nennt keinen davon.",
  ],
  nothingToCompare: [
    "Data of type {type} has nothing that could be compared.",
    "Daten der Art {type} haben nichts Vergleichbares.",
  ],
  fragmentEntry: [
    "{at} must be the id of a fragment, or an object with its id.",
    "{at} muss die Id eines Fragments sein, oder ein Objekt mit seiner id.",
  ],
  fragmentMod: [
    "{at} must be an object with fragment_id and the list mods.",
    "{at} muss ein Objekt mit fragment_id und der Liste mods sein.",
  ],
  prefix: [
    "{at} begins with a letter or a digit; then - and _ are allowed, too; 60 characters at most.",
    "{at} beginnt mit einem Buchstaben oder einer Ziffer; danach sind auch - und _ erlaubt; höchstens 60 Zeichen.",
  ],
  modOperator: [
    "{at}: {operator} is not known; use $set or $unset.",
    "{at}: {operator} ist nicht bekannt; nehmen Sie $set oder $unset.",
  ],
  includedTwice: [
    "Fragment {id} is included twice; give each another prefix.",
    "Fragment {id} ist zweimal eingebunden; geben Sie jedem einen anderen prefix.",
  ],
  modStray: [
    "fragment_mods: {id} is not among the fragments.",
    "fragment_mods: {id} ist nicht unter den Fragmenten.",
  ],
  modNowhere: [
    "fragment_mods: the fragment has no entry {path}.",
    "fragment_mods: Das Fragment hat keinen Eintrag {path}.",
  ],
  modsMany: [
    "fragment_mods: there are too many, or they are too large.",
    "fragment_mods: Es sind zu viele, oder sie sind zu groß.",
  ],
  entriesMany: [
    "With its fragments it has more than {n} entries.",
    "Mit ihren Fragmenten hat sie mehr als {n} Einträge.",
  ],
  valuesMany: [
    "The fragments have more than {n} values together.",
    "Die Fragmente haben zusammen mehr als {n} Werte.",
  ],
  fragmentsMany: [
    "More than {n} fragments are included.",
    "Mehr als {n} Fragmente sind eingebunden.",
  ],
  variableForm: [
    'Fragment {id}: a variable is written as "$variable": {"name": …}.',
    'Fragment {id}: Eine Variable schreibt man als "$variable": {"name": …}.',
  ],
  privateFragment: [
    "It is public and includes the private fragment {name}.",
    "Es ist öffentlich und bindet das private Fragment {name} ein.",
  ],
  long: ["It has {n} characters; {most} are allowed.", "Es sind {n} Zeichen; erlaubt sind {most}."],
  many: [
    "It has more than {most} values; no more are allowed.",
    "Es sind mehr als {most} Werte; mehr sind nicht erlaubt.",
  ],
  unknownKey: ["{at} is not known.", "{at} ist nicht bekannt."],
  unknownKeyMeant: [
    "{at} is not known; did you mean {meant}?",
    "{at} ist nicht bekannt; meinten Sie {meant}?",
  ],
  noEffect: ["{at} has no effect here.", "{at} hat hier keine Wirkung."],
  noQueue: [
    "{at} has no effect: readings go into the file at once.",
    "{at} hat keine Wirkung: Messwerte gehen sofort in die Datei.",
  ],
  noFragments: [
    "{at} has no effect on a machine that reads this directly: a cloud merges fragments.",
    "{at} wirkt nicht auf einer Maschine, die dies selbst liest: Fragmente fügt eine Cloud ein.",
  ],
  noPush: [
    "{at} has no effect: nobody is notified by push; use webhook or email.",
    "{at} hat keine Wirkung: Niemand wird durch push benachrichtigt; nehmen Sie webhook oder email.",
  ],
  noUpgrades: [
    "{at} has no effect: the agent starts no upgrades itself; use all or security.",
    "{at} hat keine Wirkung: Der Agent beginnt selbst keine Aktualisierungen; nehmen Sie all oder security.",
  ],
  noStatement: ["There is no statement.", "Da steht keine Abfrage."],
  begins: [
    "It begins with {first}; a query begins with SELECT or WITH.",
    "Sie beginnt mit {first}; eine Abfrage beginnt mit SELECT oder WITH.",
  ],
  cannotUse: [
    "{name} cannot be used; there is one table, readings.",
    "{name} ist nicht benutzbar; es gibt eine Tabelle, readings.",
  ],
  oneSelect: ["It must be one SELECT.", "Es muss genau ein SELECT sein."],
  ambiguous: [
    "{name} is in several tables; name one.",
    "{name} gibt es in mehreren Tabellen; nennen Sie eine.",
  ],
  aggregate: ["{name}() cannot stand there.", "{name}() kann dort nicht stehen."],
  arguments: [
    "{name}() has the wrong number of arguments.",
    "{name}() hat die falsche Zahl von Argumenten.",
  ],
  token: ["“{token}” is not allowed there.", "„{token}“ ist dort nicht erlaubt."],
  oneSql: ["$sql takes one statement.", "$sql nimmt eine Abfrage."],
} as const satisfies Texts;
