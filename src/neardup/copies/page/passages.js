const STEP = 100, NAMED = 30;
const every = JSON.parse(document.getElementById("data").textContent);
const list = document.getElementById("list");
const pane = document.getElementById("document");
const source = document.getElementById("source");
const status = document.getElementById("status");
const more = document.getElementById("more");
let found = [], listed = 0;

function make(tag, text, kind) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

function textBlock() {
  const block = make("div", undefined, "text");
  block.dir = "auto";
  return block;
}

function percent(share) {
  return (100 * share).toFixed(1) + " %";
}

function count(number, one) {
  return number.toLocaleString("en") + " " + (number === 1 ? one : one + "s");
}

// Colours of sources: hues that are a golden angle apart, so that each differs from all others.
function coloured(content, passage) {
  const mark = make("mark", content, passage.kind);
  if (passage.kind !== "boilerplate")
    mark.style.setProperty("--hue", (40 + passage.colour * 137.508) % 360);
  return mark;
}

function sourceName(passage) {
  return passage.kind === "within" ? "the same document" : passage.source;
}

function showSource(passage, pressed) {
  for (const other of pane.querySelectorAll("[aria-pressed=true]"))
    other.setAttribute("aria-pressed", "false");
  for (const other of pane.querySelectorAll(`[data-passage="${pressed}"]`))
    other.setAttribute("aria-pressed", "true");
  source.replaceChildren();
  const corpus = (isOld) => (isOld ? ", in the other corpus" : "");
  const named = sourceName(passage) + corpus(passage.old);
  source.append(make("h3", "Source: " + named));
  const about = count(passage.words, "word") + ", characters " + passage.at.join(" to ") +
    "; in " + count(passage.documents, "document") +
    (passage.origin ? "; first in " + passage.origin + corpus(passage.originOld) : "");
  source.append(make("p", about, "soft"));
  if (passage.text) {
    const text = textBlock();
    const [before, inside, behind] = passage.text, mark = coloured(inside, passage);
    text.append(before, mark, behind);
    source.append(text);
    text.scrollTop = mark.offsetTop - text.offsetTop - 40;
  }
}

function legend(one) {
  const names = new Map();
  for (const passage of one.passages) {
    const key = passage.kind === "boilerplate" ? "boilerplate" : sourceName(passage);
    if (!names.has(key)) names.set(key, passage);
  }
  const found = make("ul", undefined, "legend");
  for (const [name, passage] of [...names].slice(0, NAMED)) {
    const item = make("li");
    item.append(coloured(name, passage));
    found.append(item);
  }
  if (names.size > NAMED) found.append(make("li", `and ${count(names.size - NAMED, "more source")}`));
  if (one.changed) {
    const item = make("li");
    item.append(make("span", "changed words", "changed"));
    found.append(item);
  }
  return found;
}

function open(one, focus) {
  for (const button of list.querySelectorAll("button"))
    button.setAttribute("aria-current", String(button.one === one));
  source.replaceChildren();
  pane.replaceChildren(make("h3", one.id));
  const about = [
    `${count(one.copied, "word")} of ${one.words.toLocaleString("en")} copied, ${percent(one.share)}`,
  ];
  if (one.common) about.push(count(one.common, "word") + " of boilerplate");
  if (one.changed) about.push(count(one.changed, "changed word"));
  if (one.main) about.push("most from " + one.main);
  if (!one.kept) about.push("left out of the clean corpus");
  pane.append(make("p", about.join("; ") + ".", "soft"), legend(one));
  if (one.parts) {
    const text = textBlock();
    for (const [content, number, changed] of one.parts) {
      if (number < 0) {
        text.append(changed ? make("span", content, "changed") : content);
        continue;
      }
      text.append(marked(content, one.passages[number], number));
    }
    pane.append(text);
    if (one.cut) pane.append(make("p", "The rest of the text is not in this page.", "soft"));
  } else {
    const rows = make("ul");
    one.passages.forEach((passage, number) => {
      const item = make("li");
      item.append(marked(
        `characters ${passage.here.join(" to ")}: ${count(passage.words, "word")} from ` +
          sourceName(passage), passage, number));
      rows.append(item);
    });
    pane.append(rows);
  }
  if (focus) pane.focus();
}

function marked(content, passage, number) {
  const mark = coloured(content, passage);
  mark.tabIndex = 0;
  mark.dataset.passage = number;
  mark.setAttribute("role", "button");
  mark.setAttribute("aria-pressed", "false");
  mark.addEventListener("click", () => showSource(passage, number));
  mark.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      showSource(passage, number);
    }
  });
  return mark;
}

function extend() {
  for (const one of found.slice(listed, listed + STEP)) {
    const item = make("li"), button = make("button", one.id);
    button.type = "button";
    button.one = one;
    button.append(make("small", `${count(one.copied, "word")} copied, ${percent(one.share)}`));
    button.addEventListener("click", () => open(one, true));
    item.append(button);
    list.append(item);
  }
  listed += STEP;
  more.hidden = listed >= found.length;
}

function matches(one, query) {
  if (!query) return true;
  const texts = [one.id, ...one.passages.map((passage) => passage.source)];
  if (one.parts) texts.push(one.parts.map((part) => part[0]).join(""));
  return texts.some((text) => text.toLowerCase().includes(query));
}

function search() {
  const query = document.getElementById("search").value.trim().toLowerCase();
  found = every.filter((one) => matches(one, query));
  listed = 0;
  list.replaceChildren();
  extend();
  status.textContent = count(found.length, "document") +
    (query ? ` of the ${every.length.toLocaleString("en")} in this page` : "");
  if (found.length) open(found[0], false);
  else for (const part of [pane, source]) part.replaceChildren();
}

more.addEventListener("click", extend);
document.getElementById("search").addEventListener("input", search);
search();
