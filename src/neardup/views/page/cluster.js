// A cluster: its documents, and their texts as walks along each other.

// Fields of a member, see `neardup.views.page.page_clusters`.
const [DOC, ID, SIMILARITY, BASE, NEAR, DEPTH, CHARACTERS, COPY_OF, TARGET, CELL] = [...Array(10).keys()];

// Documents of a cluster that have a row each; others are named by their ids.
const LISTED = 200;

/** A document of which little more than the id and the similarity is in the page. */
function known([doc, id, similarity, cell, target = null]) {
  const hangs = similarity !== null && target === null;
  return [doc, id, similarity, hangs ? 0 : -1, hangs ? similarity : null, Number(hangs), 0, -1, target, cell];
}

/** A cluster of which only ids are in the page. */
function ofIds([cluster, documents, kept, lowest, steps, ...rows]) {
  return { cluster, documents, kept, lowest, steps, members: rows.slice(0, LISTED).map(known), more: rows.slice(LISTED) };
}

class Cluster extends Item {
  constructor({ texts, more, ...data }) {
    super(data, data.cluster);
    this.more = (more || []).map(known);
    this.held = texts || {}; // by place: a text, or a walk
  }

  /** All documents that the page knows. */
  get every() {
    return this.more.length ? [...this.members, ...this.more] : this.members;
  }

  get size() {
    return this.documents;
  }

  get name() {
    return this.members[0][ID];
  }

  get names() {
    return this.every.map((member) => member[ID]);
  }

  get searched() {
    return (this.shown || []).flat().filter((value) => value !== null);
  }

  valuesOf(column) {
    const values = (this.shown || []).map((row) => row[this.columns.indexOf(column)]);
    return [...new Set(values.filter((value) => value))];
  }

  get texts() {
    return Object.keys(this.held).map((place) => this.textOf(Number(place)));
  }

  get judged() {
    return this.every.map((member) => [member[DOC], member[ID]]);
  }

  /** Number of removed documents that are looked at. */
  count(selection) {
    const rest = this.rest && !selection.bar && !selection.cell ? this.rest[selection.step] : 0;
    return rest + this.every.reduce((sum, member) => sum + selection.has(member), 0);
  }

  key(order) {
    return { size: -this.documents, lowest: this.lowest ?? 2, steps: -this.steps, input: 0 }[order];
  }

  foot(selection) {
    const removed = this.documents - this.kept;
    const seen = selection.all ? removed : this.count(selection);
    const says = [
      `${count(this.kept)} kept`,
      seen < removed ? `${count(seen)} of ${count(removed)} removed` : `${count(removed)} removed`,
      this.lowest === 1 ? "similarity 1" : "similarity from " + similarityText(this.lowest),
    ];
    return [says, this.steps > 1 ? `path of ${this.steps} pairs` : null];
  }

  get tells() {
    return this.lowest !== 1 && this.texts.length > 0;
  }

  opened(context) {
    return new OpenCluster(context, this);
  }

  /** Whether the text of a member is in the page. */
  hasText(place) {
    return this.held[place] !== undefined;
  }

  /** The text of a member, as parts of it and of the one that it hangs on: {equal, a, b}. */
  parts(place) {
    const held = this.held[place];
    if (typeof held === "string") return [{ equal: true, a: held, b: held }];
    const base = this.textOf(this.members[place][BASE]);
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
  textOf(place) {
    return this.parts(place).map((part) => part.b).join("");
  }
}
