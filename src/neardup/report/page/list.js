// The list of clusters: searched, sorted, in pages.

const PER_PAGE = matchMedia("(max-width: 900px)").matches ? 10 : 20;
// How far below the edge threshold the least similarity is to be remarkable.
const FAR_BELOW = 0.1;

// How each order compares two clusters; equal ones stay in the order of the input.
const ORDERS = {
  size: (a, b) => b.documents - a.documents,
  suspicion: (a, b) => b.score - a.score,
  chain: (a, b) => b.steps - a.steps,
  least: (a, b) => (a.least ?? 2) - (b.least ?? 2),
  lengths: (a, b) => lengthRatio(b) - lengthRatio(a),
  input: () => 0,
};

/** How many times longer the longest text is than the shortest. */
function lengthRatio(cluster) {
  return cluster.longest / Math.max(1, cluster.shortest);
}

/** What is worth a look at a cluster, in a few words each. */
function suspicions(cluster, threshold) {
  const found = [];
  if (cluster.steps > 2) found.push("chain of " + cluster.steps + " steps");
  if (cluster.least !== null && cluster.least < threshold - FAR_BELOW) {
    found.push("least similarity " + similarityText(cluster.least));
  }
  const ratio = lengthRatio(cluster);
  if (ratio >= 1.5) found.push("lengths 1 : " + ratio.toFixed(1));
  return found;
}

/** Texts and what they are searched in. */
class Library {
  constructor(data) {
    this.clusters = data.clusters;
    this.held = data.texts;
    this.haystacks = [];
  }

  /** A text by its number; some are held as what differs from another one. */
  text(number) {
    const held = this.held[number];
    if (typeof held === "string") return held;
    const base = this.text(held[0]);
    const parts = held.slice(1);
    return parts.map((part) => (typeof part === "string" ? part : base.slice(...part))).join("");
  }

  /** The texts of a cluster that are in the page: [place of the member, number of the text]. */
  texts(cluster) {
    return (cluster.texts || [])
      .map((number, k) => [cluster.compared[k], number])
      .filter(([, number]) => number >= 0);
  }

  /** All that is searched of a cluster, in lower case. */
  haystack(k) {
    if (this.haystacks[k] === undefined) {
      const cluster = this.clusters[k];
      const numbers = new Set(this.texts(cluster).map(([, number]) => number));
      const texts = [...numbers].map((number) => this.text(number));
      const ids = cluster.members.map((member) => member[0]);
      this.haystacks[k] = plain([...ids, ...texts].join("\n"));
    }
    return this.haystacks[k];
  }

  /** Numbers of the clusters that hold all terms. */
  search(terms) {
    const all = [...this.clusters.keys()];
    return all.filter((k) => terms.every((term) => this.haystack(k).includes(term)));
  }
}

/** A text as it is searched: lower case, white space as single blanks. */
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

/** The list beside the open cluster. */
class List {
  /**
   * parts: elements search, order, status, rows, pages; opened is called with the number of a
   * cluster and the button that opened it.
   */
  constructor(library, threshold, parts, opened) {
    Object.assign(this, { library, threshold, parts, opened });
    this.page = 0;
    this.open = null;
    this.terms = [];
    this.found = [];
    this.marked = 0; // the row that Tab leads to
    let waiting = null;
    parts.search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.find(), 80);
    });
    parts.order.addEventListener("change", () => this.find());
    parts.rows.addEventListener("keydown", (event) => this.key(event));
    parts.search.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" && this.found.length) {
        event.preventDefault();
        this.mark(0, true);
      } else if (event.key === "Enter" && this.found.length) {
        clearTimeout(waiting);
        this.find();
        if (this.found.length) this.opened(this.found[0], this.button(0));
      }
    });
    this.find();
  }

  /** Search and sort anew, and show the first page. */
  find() {
    this.terms = termsOf(this.parts.search.value);
    const compare = ORDERS[this.parts.order.value];
    const { clusters } = this.library;
    this.found = this.library
      .search(this.terms)
      .sort((j, k) => compare(clusters[j], clusters[k]) || clusters[j].cluster - clusters[k].cluster);
    this.page = 0;
    this.marked = 0;
    this.draw();
  }

  get pages() {
    return Math.max(1, Math.ceil(this.found.length / PER_PAGE));
  }

  draw() {
    const from = this.page * PER_PAGE;
    const shown = this.found.slice(from, from + PER_PAGE);
    this.parts.rows.replaceChildren(...shown.map((k, row) => this.row(k, row)));
    this.parts.rows.setAttribute("start", from + 1);
    const of = this.library.clusters.length;
    const what = this.terms.length
      ? count(this.found.length) + " of " + counted(of, "cluster") + (this.found.length === 1 ? " matches" : " match")
      : counted(of, "cluster");
    this.parts.status.textContent = this.found.length > shown.length
      ? `${what}; ${count(from + 1)} to ${count(from + shown.length)} shown`
      : what;
    this.drawPages();
  }

  drawPages() {
    const turn = (name, label, page) => {
      const there = page >= 0 && page < this.pages;
      return make(
        "button",
        { type: "button", "aria-label": label, disabled: !there, on: { click: () => this.turn(page) } },
        name,
      );
    };
    this.parts.pages.replaceChildren(
      turn("«", "First page", this.page > 0 ? 0 : -1),
      turn("‹", "Page before", this.page - 1),
      make("span", {}, `Page ${count(this.page + 1)} of ${count(this.pages)}`),
      turn("›", "Next page", this.page + 1),
      turn("»", "Last page", this.page < this.pages - 1 ? this.pages - 1 : -1),
    );
    this.parts.pages.hidden = this.pages === 1;
  }

  row(k, row) {
    const cluster = this.library.clusters[k];
    const head = make(
      "span",
      { class: "row-head" },
      make("span", { class: "row-size" }, count(cluster.documents)),
      quoted(cluster.members[0][0], { class: "id" }),
    );
    const body = [head];
    const texts = this.library.texts(cluster);
    if (texts.length) {
      const hit = texts.find(([, number]) => {
        const text = plain(this.library.text(number));
        return this.terms.some((term) => text.includes(term));
      });
      const text = this.library.text((hit || texts[0])[1]);
      body.push(make("span", { class: "row-text" }, snippet(text, this.terms, 110)));
    }
    const flags = suspicions(cluster, this.threshold).map((flag) => make("span", { class: "flag" }, flag));
    body.push(
      make(
        "span",
        { class: "row-foot" },
        make("span", {}, `${count(cluster.kept)} kept`),
        make("span", {}, cluster.least === 1 ? "all alike" : "similarity from " + similarityText(cluster.least)),
        flags,
      ),
    );
    const button = make(
      "button",
      {
        type: "button",
        class: "row",
        tabindex: row === this.marked ? "0" : "-1",
        "data-cluster": String(cluster.cluster),
        "aria-current": this.open === k ? "true" : null,
        on: { click: () => this.opened(k, button) },
      },
      body,
    );
    return make("li", {}, button);
  }

  button(row) {
    return this.parts.rows.children[row]?.firstChild;
  }

  /** Have Tab lead to a row; move there if wanted. */
  mark(row, focus) {
    const old = this.button(this.marked);
    if (old) old.tabIndex = -1;
    this.marked = row;
    const now = this.button(row);
    if (!now) return;
    now.tabIndex = 0;
    if (focus) now.focus();
  }

  turn(page) {
    this.page = page;
    this.marked = 0;
    this.draw();
    this.parts.rows.scrollTop = 0;
    this.mark(0, true);
  }

  key(event) {
    const row = [...this.parts.rows.children].findIndex((item) => item.contains(event.target));
    const last = this.parts.rows.children.length - 1;
    if (row < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    let to = null;
    if (event.key === "ArrowDown") {
      if (row < last) to = row + 1;
      else if (this.page < this.pages - 1) this.turn(this.page + 1);
      else return;
    } else if (event.key === "ArrowUp") {
      if (row > 0) to = row - 1;
      else if (this.page > 0) {
        this.turn(this.page - 1);
        to = PER_PAGE - 1;
      } else return;
    } else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = last;
    else if (event.key === "PageDown" && this.page < this.pages - 1) this.turn(this.page + 1);
    else if (event.key === "PageUp" && this.page > 0) this.turn(this.page - 1);
    else return;
    event.preventDefault();
    if (to !== null) this.mark(to, true);
  }

  /** Show which cluster is open. */
  setOpen(k) {
    this.open = k;
    for (const item of this.parts.rows.children) {
      const label = k === null ? null : String(this.library.clusters[k].cluster);
      if (item.firstChild.dataset.cluster === label) {
        item.firstChild.setAttribute("aria-current", "true");
      } else item.firstChild.removeAttribute("aria-current");
    }
  }
}
