// Texts and elements. Whatever comes from a document becomes a text node, never markup.

// What can't be seen, or changes the order of what can: shown as a sign. Blanks, tabs and line ends
// stay as they are.
const HIDDEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;

/** The character shown for one that can't be seen. */
function signOf(character) {
  const point = character.codePointAt(0);
  if (point < 0x20) return String.fromCharCode(0x2400 + point);
  if (point === 0x7f) return "\u2421";
  return "U+" + point.toString(16).toUpperCase().padStart(4, "0");
}

/** Put a text at the end of an element, with signs for what can't be seen. */
function putText(parent, text) {
  let at = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > at) parent.append(text.slice(at, found.index));
    const sign = document.createElement("span");
    sign.className = "sign";
    sign.title = "a character that can't be seen";
    sign.textContent = signOf(found[0]);
    parent.append(sign);
    at = found.index + found[0].length;
  }
  if (at < text.length) parent.append(text.slice(at));
}

/** Make an element; children that are strings become text. */
function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    } else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined) continue;
    if (typeof child === "string") putText(made, child);
    else made.append(child);
  }
  return made;
}

/** Make a button; more are its attributes. */
function button(label, click, more) {
  return make("button", { type: "button", on: { click }, ...more }, label);
}

/** Make a table of rows below their heads; both have their cells already. */
function tableOf(name, heads, rows) {
  return make("table", { class: name }, make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows));
}

/** Make an element of a picture. */
function drawn(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

/** A text of a document or an id, kept from changing the direction of what is around it. */
function quoted(text, attributes) {
  return make("bdi", attributes, text);
}

function count(value) {
  return value.toLocaleString("en");
}

function counted(value, one, many) {
  return count(value) + " " + (value === 1 ? one : many || one + "s");
}

/** A similarity in three digits; what is shown as 1 is 1. */
function similarityText(value) {
  if (value === null) return "–";
  return value === 1 ? "1" : Math.min(value, 0.999).toFixed(3);
}

/** A similarity as a bar and a number. */
function similarityBar(value) {
  const bar = drawn("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
  bar.append(drawn("rect", { width: 100 * (value || 0), height: 10 }));
  return make("span", { class: "similarity line" }, bar, make("span", {}, similarityText(value)));
}

/** A text without its middle where it is long: ends distinguish ids and addresses. */
function shortened(text, most) {
  const half = Math.floor((most - 1) / 2);
  return text.length > most ? `${cutAt(text, half)}…${tailOf(text, half)}` : text;
}

/** The same, with a button that shows all of it. */
function onDemand(text, most, attributes) {
  const shown = quoted(shortened(text, most), attributes);
  if (text.length <= most) return shown;
  const open = () => made.replaceChildren(quoted(text, attributes));
  const made = make("span", {}, shown, " ", small("all of it", open, { class: "small more" }));
  return made;
}

/** An id, see above; with a length, for what is a button itself. */
function shownId(text, most) {
  return most ? quoted(shortened(text, most), { class: "id" }) : onDemand(text, 80, { class: "id" });
}

/** The beginning of a text, not cut within a character. */
function cutAt(text, length) {
  const end = /[\ud800-\udbff]/.test(text[length - 1] || "") ? length - 1 : length;
  return text.slice(0, end);
}

/** The end of a text, not cut within a character. */
function tailOf(text, length) {
  const tail = text.slice(-length);
  return /^[\udc00-\udfff]/.test(tail) ? tail.slice(1) : tail;
}

/** What this browser keeps under a name; a page from a file may have no storage. */
function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keep a text in this browser, or else as long as the page. */
function store(name, text) {
  try {
    localStorage.setItem(name, text);
  } catch {
    // As above.
  }
}

/** Save a text as a file. */
function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/**
 * Rows as CSV, all values in quotes.
 *
 * Spreadsheets run what begins like a formula: a quote is put before that, except in ids.
 */
function csv(heads, rows, ids) {
  const cell = (value, column) => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && !ids.includes(heads[column]) && /^[=+\-@\t\r]/.test(text)) {
      text = "'" + text;
    }
    return `"${text.replaceAll('"', '""')}"`;
  };
  return [heads, ...rows].map((row) => row.map(cell).join(",") + "\r\n").join("");
}
