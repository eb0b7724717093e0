// One cluster, opened: what its documents share, who they are, how they hang together, and any two
// of them side by side.

// Fields of a member, see `neardup.report.page.clusters`.
const [ID, KEPT, KEPT_BY, SIMILARITY, CHARACTERS, STEPS, BEFORE, STEPS_BEFORE, NEAR] = [...Array(9).keys()];

function section(name, title, ...children) {
  return make(
    "section",
    { class: name, "aria-labelledby": "title-" + name },
    make("h4", { id: "title-" + name }, title),
    children,
  );
}

class Cluster {
  constructor(library, k, settings) {
    this.library = library;
    this.cluster = library.clusters[k];
    this.settings = settings;
    this.textOf = new Map(library.texts(this.cluster));
  }

  draw(close) {
    const { cluster } = this;
    const heading = make(
      "h3",
      { tabindex: "-1" },
      counted(cluster.documents, "document") + " like ",
      quoted(cluster.members[0][ID], { class: "id" }),
    );
    const back = make(
      "button",
      { type: "button", class: "close", "aria-label": "Close this cluster", on: { click: close } },
      "✕",
    );
    return [
      make("div", { class: "cluster-head" }, heading, back),
      this.facts(),
      this.template(),
      this.members(),
      this.sides(),
      this.tree(),
    ].filter(Boolean);
  }

  facts() {
    const { cluster } = this;
    const removed = cluster.documents - cluster.kept;
    const found = [
      ["Kept", count(cluster.kept)],
      ["Removed", count(removed)],
      [cluster.every ? "Least similarity" : "Least similarity seen", similarityText(cluster.least)],
      ["Longest chain", cluster.steps < 1 ? "–" : counted(cluster.steps, "step")],
    ];
    if (cluster.longest) {
      const range =
        cluster.shortest === cluster.longest
          ? count(cluster.longest)
          : count(cluster.shortest) + " to " + count(cluster.longest);
      found.push(["Characters", range]);
    }
    const list = make(
      "dl",
      { class: "cluster-facts" },
      found.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
    );
    const flags = suspicions(cluster, this.settings.threshold);
    if (!flags.length) return list;
    const why = make("p", { class: "worth" }, make("strong", {}, "Worth a look: "), flags.join(", ") + ".");
    return make("div", {}, list, why);
  }

  template() {
    const { cluster, settings } = this;
    if (!settings.texts) return null;
    const of = cluster.compared.length;
    const few = of < cluster.documents;
    const title = `What ${few ? count(of) + " of them" : of === 2 ? "both" : "all " + count(of)} share`;
    const parts = cluster.template;
    if (!parts) {
      const why = "The texts of this cluster are not in the page, to keep it small.";
      return section("template", title, make("p", { class: "quiet" }, why));
    }
    const text = this.library.text(cluster.texts[0]);
    const slots = parts.filter((part) => typeof part !== "number");
    const shared = parts.reduce((sum, part) => sum + (typeof part === "number" ? part : 0), 0);
    const body = make("div", { class: "note", dir: "auto", tabindex: "0", role: "region", "aria-label": title });
    let at = 0;
    for (const part of parts) {
      if (typeof part === "number") {
        body.append(make("span", { class: "shared" }, text.slice(at, at + part)));
        at += part;
      } else {
        body.append(this.slot(part, of));
        at += part[0];
      }
    }
    let says;
    if (!slots.length) says = "Nothing varies: these texts are the same, character by character.";
    else if (!shared) says = "Nothing: no word is in all of them in the same order.";
    else {
      const share = Math.max(1, Math.min(99, Math.round((100 * shared) / text.length)));
      says =
        `${share} % of the first text is in ${of === 2 ? "both" : "all"} of them. ` +
        `${counted(slots.length, "place")} ${slots.length === 1 ? "varies" : "vary"}; open one to see its values.`;
    }
    return section("template", title, make("p", { class: "quiet" }, says), body);
  }

  slot([, distinct, values], of) {
    const shown = values.slice(0, 2).map(([value]) => value);
    const rest = distinct - shown.length;
    const label = (value) =>
      value.trim()
        ? quoted(value.length > 40 ? cutAt(value, 40) + "…" : value)
        : make("span", { class: "none" }, "nothing");
    const face = shown.flatMap((value, k) => [
      k ? make("span", { class: "or", "aria-label": " or " }, " | ") : null,
      label(value),
    ]);
    if (rest > 0) face.push(make("span", { class: "or" }, ` +${count(rest)}`));
    const button = make(
      "button",
      {
        type: "button",
        class: "slot",
        "aria-expanded": "false",
        on: {
          click: () => {
            const open = button.getAttribute("aria-expanded") === "true";
            button.setAttribute("aria-expanded", String(!open));
            if (open) button.nextSibling.remove();
            else button.after(this.values(distinct, values, of));
          },
        },
      },
      face,
    );
    return make("span", { class: "slot-box" }, button);
  }

  values(distinct, values, of) {
    const items = values.map(([value, many]) =>
      make(
        "span",
        { role: "listitem" },
        make("span", { class: "many" }, `${count(many)}×`),
        value.trim() ? quoted(value) : make("span", { class: "none" }, "nothing"),
      ),
    );
    const rest = distinct - values.length;
    if (rest > 0) items.push(make("span", { class: "quiet", role: "listitem" }, `and ${counted(rest, "other value")}`));
    return make("span", { class: "values", role: "list", "aria-label": `Values in ${count(of)} texts` }, items);
  }

  members() {
    const { cluster } = this;
    const measured = cluster.members[0][CHARACTERS] !== null;
    const heads = ["Document", "", "Similarity", measured ? "Characters" : null, ""].filter((x) => x !== null);
    const rows = cluster.members.map((member, place) => {
      const has = this.textOf.has(place);
      const cells = [
        make("th", { scope: "row" }, quoted(member[ID], { class: "id" })),
        make("td", {}, this.fate(member)),
        make("td", { class: "wide" }, member[KEPT] ? "" : similarityBar(member[SIMILARITY])),
      ];
      if (measured) cells.push(make("td", { class: "number" }, count(member[CHARACTERS])));
      const compare = { type: "button", class: "small", on: { click: () => this.compareWith(place) } };
      if (this.textOf.size > 1) {
        cells.push(make("td", { class: "action" }, has ? make("button", compare, "Compare") : null));
      }
      return make("tr", {}, cells);
    });
    if (this.textOf.size < 2) heads.pop();
    const table = make(
      "table",
      {},
      make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, rows),
    );
    const left = cluster.documents - cluster.members.length;
    const says = [];
    if (left) says.push(`${counted(left, "more document")} ${left === 1 ? "is" : "are"} not listed, to keep the page small.`);
    if (this.settings.texts && this.textOf.size < cluster.documents) {
      says.push(`The texts of ${count(this.textOf.size)} are in the page; these can be compared.`);
    }
    return section(
      "members",
      "Documents",
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Documents of the cluster" }, table),
      says.length ? make("p", { class: "quiet" }, says.join(" ")) : null,
    );
  }

  fate(member) {
    if (member[KEPT]) return make("span", { class: "badge kept" }, "kept");
    const by = member[KEPT_BY];
    const id = typeof by === "number" ? this.cluster.members[by][ID] : by;
    return make(
      "span",
      {},
      make("span", { class: "badge removed" }, member[SIMILARITY] === 1 ? "same as" : "repeats"),
      " ",
      quoted(id, { class: "id" }),
    );
  }

  sides() {
    const { cluster, settings } = this;
    if (!cluster.compared) return null;
    const places = settings.texts ? cluster.compared.filter((place) => this.textOf.has(place)) : cluster.compared;
    if (places.length < 2) return null;
    const choose = (name, chosen) => {
      const options = places.map((place) => {
        const option = make("option", { value: String(place), selected: place === chosen });
        // Options show plain text only, so signs go in as characters.
        option.textContent = cluster.members[place][ID].replace(HIDDEN, signOf);
        return option;
      });
      const select = make("select", { "aria-label": name, on: { change: () => this.compare() } }, options);
      return select;
    };
    // The two that tell most: the first, and the first that is not the same.
    const other = places.find((place, k) => k > 0 && this.pair(places[0], place) < 1) ?? places[1];
    this.left = choose("Text on the left", places[0]);
    this.right = choose("Text on the right", other);
    this.result = make("div", { class: "result", "aria-live": "polite" });
    this.only = make("input", { type: "checkbox", on: { change: () => this.compare() } });
    const swap = () => {
      [this.left.value, this.right.value] = [this.right.value, this.left.value];
      this.compare();
    };
    const controls = make(
      "div",
      { class: "controls" },
      this.left,
      make("button", { type: "button", class: "small", "aria-label": "Swap the two", on: { click: swap } }, "⇄"),
      this.right,
      settings.texts ? make("label", { class: "check" }, this.only, "only what differs") : null,
    );
    const made = section("sides", "Side by side", controls, this.result);
    this.compare();
    return made;
  }

  /** The exact similarity of two members that were compared. */
  pair(one, other) {
    const { compared, pairs } = this.cluster;
    let [i, j] = [compared.indexOf(one), compared.indexOf(other)];
    if (i === j) return 1;
    if (i > j) [i, j] = [j, i];
    // Rows of a triangle: those before the i-th have one less each.
    return pairs[i * compared.length - (i * (i + 1)) / 2 + (j - i - 1)] / 10000;
  }

  compareWith(place) {
    this.right.value = String(place);
    if (this.left.value === this.right.value) {
      const other = [...this.left.options].find((option) => option.value !== this.right.value);
      this.left.value = other.value;
    }
    this.compare();
    this.right.closest("section").scrollIntoView({ block: "nearest" });
    this.left.focus({ preventScroll: true });
  }

  compare() {
    const [one, other] = [Number(this.left.value), Number(this.right.value)];
    const says = make(
      "p",
      { class: "pair" },
      make("span", {}, "Exact similarity "),
      similarityBar(this.pair(one, other)),
    );
    if (!this.settings.texts) {
      this.result.replaceChildren(says);
      return;
    }
    const texts = [one, other].map((place) => this.library.text(this.textOf.get(place)));
    const rows = rowsOf(compareTexts(...texts));
    const changed = rows.filter((row) => row.changed).length;
    says.append(make("span", { class: "quiet" }, changed ? "" : "No difference."));
    for (const place of [one, other]) {
      const characters = this.cluster.members[place][CHARACTERS];
      if (characters > this.settings.characters) {
        const cut = ` of ${count(characters)} characters of `;
        says.append(
          make("span", { class: "quiet" }, `Only the first ${count(this.settings.characters)}${cut}`, quoted(this.cluster.members[place][ID]), " are in the page."),
        );
      }
    }
    const head = make(
      "tr",
      {},
      [one, other].map((place) => make("th", { scope: "col" }, quoted(this.cluster.members[place][ID], { class: "id" }))),
    );
    const body = make("tbody", {});
    let hidden = 0;
    const gap = () => {
      if (hidden) body.append(make("tr", { class: "gap" }, make("td", { colspan: "2" }, `${counted(hidden, "passage")} without difference`)));
      hidden = 0;
    };
    for (const row of rows) {
      if (this.only.checked && !row.changed) {
        hidden++;
        continue;
      }
      gap();
      const cell = (pieces, tag) =>
        make("td", { dir: "auto" }, pieces.map(([differs, text]) => make(differs ? tag : "span", {}, text)));
      const kind = (row.changed ? "changed" : "same") + (row.ends ? " ends" : "");
      body.append(make("tr", { class: kind }, cell(row.a, "del"), cell(row.b, "ins")));
    }
    gap();
    this.result.replaceChildren(says, make("table", { class: "compared" }, make("thead", {}, head), body));
  }

  tree() {
    const { members, documents, compared } = this.cluster;
    const children = members.map(() => []);
    const loose = [];
    members.forEach((member, place) => {
      if (place === 0) return;
      if (member[BEFORE] >= 0) children[member[BEFORE]].push(place);
      else loose.push(place);
    });
    // Deep chains are drawn without recursion.
    const boxes = members.map((member) => {
      const via = member[STEPS_BEFORE] - 1;
      return make(
        "li",
        {},
        make(
          "span",
          { class: "node" },
          quoted(member[ID], { class: "id" }),
          member[KEPT] ? make("span", { class: "badge kept" }, "kept") : null,
          member[BEFORE] >= 0 ? similarityBar(member[NEAR]) : null,
          via > 0 ? make("span", { class: "quiet" }, `by way of ${counted(via, "other document")}`) : null,
        ),
      );
    });
    members.forEach((_, place) => {
      if (children[place].length) boxes[place].append(make("ul", {}, children[place].map((child) => boxes[child])));
    });
    const says =
      "From the first kept document to each other one by the fewest pairs that were compared and found similar. " +
      "The bar is the exact similarity of a document to the one that it hangs on.";
    const out = [
      make("p", { class: "quiet" }, says),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tree of the cluster" }, make("ul", { class: "tree" }, boxes[0])),
    ];
    if (loose.length) {
      out.push(make("p", { class: "quiet" }, "No similar pair leads to these; they were grouped otherwise:"));
      out.push(make("ul", { class: "tree" }, loose.map((place) => boxes[place])));
    }
    return section("tree-box", "How they hang together", out);
  }
}

/** The beginning of a text, not cut within a character. */
function cutAt(text, length) {
  const end = /[\ud800-\udbff]/.test(text[length - 1]) ? length - 1 : length;
  return text.slice(0, end);
}
