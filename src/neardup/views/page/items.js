// What is listed, and what of it is looked at.

/** What is looked at: from which similarity up, of which bar, of which cell. */
class Selection {
  /** slider is missing where a page has nothing to choose from. */
  constructor(slider) {
    this.slider = slider;
    this.step = 0;
    this.bar = null; // [from, to, label]
    this.cell = null; // [number, label]
  }

  get threshold() {
    return this.slider.at[this.step];
  }

  get all() {
    return !this.step && !this.bar && !this.cell;
  }

  /** Whether a removed document is looked at. */
  has(member) {
    const similarity = member[SIMILARITY];
    if (similarity === null || similarity < this.threshold) return false;
    if (this.bar && (similarity < this.bar[0] || similarity >= this.bar[1])) return false;
    return !this.cell || member[CELL] === this.cell[0];
  }
}

/** A document, a match, a pair or a group of records, all of which is here as it is shown. */
class Item {
  constructor(data, at) {
    Object.assign(this, data, { at });
  }

  /** Names that it is found by, the one that is shown first. */
  get names() {
    return [this.name, ...this.also];
  }

  /** Texts that are searched and shown in part. */
  get texts() {
    const inside = this.kind === "texts" ? this.parts?.map(([text]) => text).join("") : this.rows.map((row) => row.join(" ")).join("\n");
    return [this.text, inside].filter(Boolean);
  }

  /** What else is searched. */
  get searched() {
    return [];
  }

  /** Its values of a column. */
  valuesOf(column) {
    return this.values[column] ?? [];
  }

  /** How much of it is looked at. */
  count() {
    return 1;
  }

  /** What it is sorted by, ascending. */
  key(order) {
    return this.sort[order] ?? 0;
  }

  /** What is said of it in the list, and what is remarkable. */
  foot() {
    return [this.says, null];
  }

  /** [number, id] of documents that can be judged. */
  get judged() {
    return this.pair || [];
  }

  /** Whether it is a good first one. */
  get tells() {
    return true;
  }

  /** What opens. */
  opened(context) {
    return new (this.kind === "texts" ? OpenTexts : OpenFields)(context, this);
  }
}

/** All that is listed. */
class Library {
  constructor(data) {
    const { columns } = data.settings;
    const clusters = [...data.items.filter((one) => one.members), ...(data.brief || []).map(ofIds)].map((one) => ({ ...one, columns }));
    const others = data.items.filter((one) => !one.members);
    this.items = [...others.map((one, k) => new Item(one, k)), ...clusters.map((one) => new Cluster(one))];
    this.haystacks = [];
  }

  /** All that is searched of an item, in lower case. */
  haystack(k) {
    const { names, searched, texts } = this.items[k];
    this.haystacks[k] ??= plain([...names, ...searched, ...texts].join("\n"));
    return this.haystacks[k];
  }

  /**
   * Numbers of the items of a group, or all, that have all terms, one of the values chosen of each
   * column, and something that is looked at.
   */
  search(terms, selection, group, values) {
    return [...this.items.keys()].filter(
      (k) =>
        terms.every((term) => this.haystack(k).includes(term)) &&
        (group === null || this.items[k].group === group) &&
        values.every(([column, value]) => this.items[k].valuesOf(column).includes(value)) &&
        (selection.all || this.items[k].count(selection) > 0),
    );
  }
}

/** Compare keys of an order: texts, or numbers. */
function compared(one, other) {
  return typeof one === "string" ? one.localeCompare(other, "en", { numeric: true }) : one - other;
}

/** A text as it is searched: lower case, white space as single spaces. */
function plain(text) {
  return text.toLowerCase().replace(/\s+/g, " ");
}

/** Words that must all occur; words in quotes belong together. */
function termsOf(query) {
  const found = query.match(/"[^"]+"|\S+/g) || [];
  return found.map((term) => plain(term.replace(/^"(.+)"$/, "$1"))).filter((term) => term.trim());
}

/** A piece of a text around the first term that is in it, with terms marked. */
function snippet(text, terms, length) {
  const flat = text.replace(/\s+/g, " ").trim();
  const any = terms.map((term) => term.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|");
  const hits = any ? [...flat.matchAll(new RegExp(any, "giu"))] : [];
  let at = hits.length ? Math.max(0, hits[0].index - 30) : 0;
  let to = Math.min(flat.length, at + length);
  // Never between the two halves of a character.
  if (/[\udc00-\udfff]/.test(flat[at] || "")) at++;
  if (/[\ud800-\udbff]/.test(flat[to - 1] || "")) to--;
  const out = make("bdi", {}, at > 0 ? "…" : null);
  for (const { index, 0: hit } of hits) {
    if (index < at || index >= to) continue;
    putText(out, flat.slice(at, index));
    at = Math.min(to, index + hit.length);
    out.append(make("mark", {}, flat.slice(index, at)));
  }
  putText(out, flat.slice(at, to));
  if (to < flat.length) out.append("…");
  return out;
}

// A word; in scripts written without spaces it is a character.
const UNSPACED = "\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}";
const WORD = new RegExp(`[${UNSPACED}]\\p{M}*|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}_])+`, "gu");

/** Cut an equal stretch into what is near a difference and what is folded: [text, words or 0]. */
function folds(text, context, first, last) {
  const words = [...text.matchAll(WORD)];
  const low = first ? 0 : context;
  const high = last ? words.length : words.length - context;
  if (high - low < 10) return [[text, 0]];
  const from = first ? 0 : words[low].index;
  const to = last ? text.length : words[high].index;
  const cut = [[text.slice(0, from), 0], [text.slice(from, to), high - low], [text.slice(to), 0]];
  return cut.filter(([piece]) => piece);
}
