// Clusters, their texts, and what of them is looked at.

// Fields of a member, see `neardup.report.page.page_clusters`.
const [DOC, ID, SIMILARITY, BASE, NEAR, DEPTH, CHARACTERS, COPY_OF, TARGET, CELL] = [...Array(10).keys()];

// Documents of a cluster that have a row each; others are named by their ids.
const LISTED = 200;

/** All documents of a cluster that the page knows. */
function everyOf(cluster) {
  return cluster.more.length ? [...cluster.members, ...cluster.more] : cluster.members;
}

/** What is looked at: from which similarity up, of which bar, of which cell. */
class Selection {
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

  /** Number of removed documents of a cluster that are looked at. */
  count(cluster) {
    const rest = cluster.rest && !this.bar && !this.cell ? cluster.rest[this.step] : 0;
    return rest + everyOf(cluster).reduce((sum, member) => sum + this.has(member), 0);
  }
}

/** Texts, and what they are searched in. */
class Library {
  constructor(data) {
    // A document of which little more than the id and the similarity is in the page.
    const known = ([doc, id, similarity, cell, target = null]) => {
      const hangs = similarity !== null && target === null;
      return [doc, id, similarity, hangs ? 0 : -1, hangs ? similarity : null, Number(hangs), 0, -1, target, cell];
    };
    const brief = data.brief.map(([cluster, documents, kept, lowest, steps, ...rows]) => {
      const members = rows.slice(0, LISTED).map(known);
      return { cluster, documents, kept, lowest, steps, members, more: rows.slice(LISTED) };
    });
    this.clusters = [...data.clusters, ...brief];
    for (const cluster of this.clusters) cluster.more = (cluster.more || []).map(known);
    this.haystacks = [];
  }

  /** Whether the text of a member is in the page. */
  hasText(cluster, place) {
    return cluster.texts?.[place] !== undefined;
  }

  /** The text of a member, as parts of it and of the one that it hangs on: {equal, a, b}. */
  parts(cluster, place) {
    const held = cluster.texts[place];
    if (typeof held === "string") return [{ equal: true, a: held, b: held }];
    const base = this.text(cluster, cluster.members[place][BASE]);
    const found = [];
    let at = 0;
    for (const part of held) {
      const [units, text, quiet] = typeof part === "number" ? [part, null, 0] : part;
      const a = base.slice(at, at + units);
      const equal = text === null || quiet === 0;
      const last = found[found.length - 1];
      if (last && last.equal && equal) {
        last.a += a;
        last.b += text ?? a;
      } else found.push({ equal, a, b: text ?? a });
      at += units;
    }
    return found;
  }

  /** The text of a member. */
  text(cluster, place) {
    return this.parts(cluster, place).map((part) => part.b).join("");
  }

  /** All that is searched of a cluster, in lower case. */
  haystack(k) {
    if (this.haystacks[k] === undefined) {
      const cluster = this.clusters[k];
      const texts = Object.keys(cluster.texts || {}).map((place) => this.text(cluster, Number(place)));
      const ids = everyOf(cluster).map((member) => member[ID]);
      const shown = (cluster.shown || []).flat().filter((value) => value !== null);
      this.haystacks[k] = plain([...ids, ...shown, ...texts].join("\n"));
    }
    return this.haystacks[k];
  }

  /** Numbers of the clusters that hold all terms and have something that is looked at. */
  search(terms, selection) {
    return [...this.clusters.keys()].filter(
      (k) =>
        terms.every((term) => this.haystack(k).includes(term)) &&
        (selection.all || selection.count(this.clusters[k]) > 0),
    );
  }
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
  const lower = flat.toLowerCase();
  const sameLength = lower.length === flat.length;
  const hits = sameLength ? terms.map((term) => lower.indexOf(term)).filter((at) => at >= 0) : [];
  let from = hits.length ? Math.max(0, Math.min(...hits) - 30) : 0;
  let to = Math.min(flat.length, from + length);
  // Never between the two halves of a character.
  if (/[\udc00-\udfff]/.test(flat[from] || "")) from++;
  if (/[\ud800-\udbff]/.test(flat[to - 1] || "")) to--;
  const out = make("bdi", {});
  if (from > 0) out.append("…");
  let at = from;
  while (sameLength && at < to) {
    let next = null;
    for (const term of terms) {
      const place = lower.indexOf(term, at);
      if (place >= 0 && place < to && (next === null || place < next[0])) {
        next = [place, Math.min(to, place + term.length)];
      }
    }
    if (next === null) break;
    putText(out, flat.slice(at, next[0]));
    out.append(make("mark", {}, flat.slice(...next)));
    at = next[1];
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
