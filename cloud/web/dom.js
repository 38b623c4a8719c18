/**
 * Makes an element. `properties` are set as they are (className, textContent, onclick …), names
 * with a dash as attributes; children may be elements, texts, or nothing.
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== ""));
  return element;
}

/** Runs `work` now and again `ms` after it has ended, until the returned function is called. */
export function every(ms, work) {
  let stopped = false;
  const turn = async () => {
    if (!document.hidden) await work();
    if (!stopped) setTimeout(turn, ms);
  };
  turn();
  return () => {
    stopped = true;
  };
}
