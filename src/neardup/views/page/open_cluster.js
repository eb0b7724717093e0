// A cluster that is open: what its texts share, its documents, and two of them side by side.

/** In place of a value without words. */
function nothing() {
  return make("span", { class: "none soft" }, "nothing");
}

class OpenCluster extends Opened {
  constructor(context, item) {
    super(context, item);
    const { members } = item;
    // Pairs to look at: where there are texts, those that have both.
    const others = members.map((_, place) => place).filter((place) => members[place][BASE] >= 0);
    const shown = others.filter((place) => item.hasText(place));
    this.pairs = shown.length ? shown : this.settings.texts ? [] : others.filter((p) => members[p][COPY_OF] < 0);
    this.shown = this.first;
  }

  get pair() {
    const { members } = this.item;
    return this.shown === undefined ? null : [members[members[this.shown][BASE]][DOC], members[this.shown][DOC]];
  }

  /** Pairs that are looked at; all of them where none is. */
  get looked() {
    const { pairs, selection, item: cluster } = this;
    const some = selection.all ? [] : pairs.filter((place) => selection.has(cluster.members[place]));
    return some.length ? some : pairs;
  }

  heading() {
    const { documents, lowest, name } = this.item;
    // Of equal words with other signs, each pair is one to look at.
    const same = lowest === 1 && !this.pairs.length;
    return [counted(documents, same ? "equal document" : "document") + (same ? ": " : " like "), shownId(name)];
  }

  body() {
    return [this.facts(), this.template(), this.members(), this.sides()];
  }

  /** The pair that differs most. */
  example() {
    if (!this.pairs.length) return null;
    const { members, documents, kept } = this.item;
    const other = members[this.shown];
    const says = `${count(kept)} kept, ${count(documents - kept)} removed; these two have the similarity ${similarityText(other[NEAR])}.`;
    const [parts, more] = firstParts(this.item.parts(this.shown), this.settings.context);
    const table = this.table(members[other[BASE]], other, parts);
    return make("article", { class: "example" }, make("h3", {}, this.heading()), make("p", {}, says), table, more ? restOf("both texts") : null);
  }

  facts() {
    const { item: cluster, settings } = this;
    const found = [
      ["Kept", count(cluster.kept)],
      ["Removed", count(cluster.documents - cluster.kept)],
      ["Lowest similarity", similarityText(cluster.lowest)],
    ];
    if (cluster.steps > 1) found.push(["Longest path", counted(cluster.steps, "pair")]);
    else if (cluster.lowest !== null && cluster.lowest < 1 && cluster.lowest > 0.5005) {
      // Jaccard distance obeys the triangle inequality.
      found.push(["Any two of them", "at least " + similarityText(2 * cluster.lowest - 1)]);
    }
    return make(
      "dl",
      { class: "cluster-facts line" },
      found.map(([name, value]) => make("div", {}, make("dt", { class: "quiet" }, name), " ", make("dd", {}, value), " ")),
      settings.texts && !cluster.texts.length ? make("p", { class: "quiet" }, "Its texts are not in the page, to keep it small.") : null,
    );
  }

  /** What the texts share, with a button for each place where they vary. */
  template() {
    const cluster = this.item;
    const parts = cluster.template;
    if (!parts || cluster.lowest === 1) return null;
    const of = cluster.compared;
    const sample = of < cluster.documents ? ` (a sample of ${count(cluster.documents)})` : "";
    const title = `What ${of === 2 ? "both" : sample ? `these ${count(of)}` : `all ${count(of)}`} share${sample}`;
    const text = cluster.textOf(0);
    const slots = parts.filter((part) => typeof part !== "number");
    const shared = parts.reduce((sum, part) => sum + (typeof part === "number" ? part : 0), 0);
    const body = make("div", { class: "note", dir: "auto", tabindex: "0", role: "region", "aria-label": title });
    let at = 0;
    parts.forEach((part, k) => {
      if (typeof part === "number") {
        const pieces = folds(text.slice(at, at + part), this.settings.context, k === 0, k === parts.length - 1);
        for (const [piece, words] of pieces) body.append(words ? this.fold(piece, words) : make("span", { class: "shared" }, piece));
        at += part;
      } else {
        body.append(this.slot(part));
        at += part[0];
      }
    });
    const share = Math.max(1, Math.min(99, Math.round((100 * shared) / text.length)));
    const says = !slots.length
      ? "Nothing varies but white space, punctuation or case."
      : !shared
        ? "Nothing: no word is in all of them in the same order."
        : `${share} % of the first text is in ${of === 2 ? "both" : "all"} of them. ` +
          `${counted(slots.length, "place")} ${slots.length === 1 ? "varies" : "vary"}; open one to see its values.`;
    return section("template", title, make("p", { class: "quiet" }, says), body);
  }

  /** A button in place of equal words, which shows them. */
  fold(text, words) {
    const unfold = () => folded.replaceWith(make("span", { class: "shared" }, text));
    const label = `${count(words)} words that do not differ; show them`;
    const folded = button(`${count(words)} words`, unfold, { class: "fold", "aria-label": label });
    return folded;
  }

  slot([, distinct, values]) {
    const shown = values.slice(0, 2).map(([value]) => value);
    const rest = distinct - shown.length;
    const label = (value) =>
      value.trim()
        ? quoted(value.length > 40 ? cutAt(value, 40) + "…" : value)
        : nothing();
    const face = shown.flatMap((value, k) => [
      k ? make("span", { class: "soft", "aria-label": " or " }, " | ") : null,
      label(value),
    ]);
    if (rest > 0) face.push(make("span", { class: "soft" }, ` +${count(rest)}`));
    const toggle = () => {
      const open = opens.getAttribute("aria-expanded") === "true";
      opens.setAttribute("aria-expanded", String(!open));
      if (open) opens.nextSibling.remove();
      else opens.after(this.values(distinct, values));
    };
    const opens = button(face, toggle, { class: "slot", "aria-expanded": "false" });
    return make("span", { class: "slot-box" }, opens);
  }

  values(distinct, values) {
    const items = values.map(([value, many]) => {
      const times = make("span", { class: "many soft" }, `${count(many)}×`);
      return make("span", { role: "listitem" }, times, value.trim() ? quoted(value) : nothing());
    });
    const rest = distinct - values.length;
    if (rest > 0) items.push(make("span", { class: "quiet", role: "listitem" }, `and ${counted(rest, "other value")}`));
    return make("span", { class: "values", role: "list", "aria-label": "Values" }, items);
  }

  /** The documents; those with the same text as one are in its line. */
  members() {
    const { item: cluster, settings } = this;
    const measured = cluster.members[0][CHARACTERS] > 0;
    const columns = cluster.shown ? settings.columns : [];
    const heads = ["Document", ...columns, "Similarity", measured ? "Characters" : null, ""];
    this.rows = [];
    cluster.members.forEach((member, place) => {
      if (member[COPY_OF] >= 0) return;
      const name = make("div", { class: "name line" }, shownId(member[ID]), this.fate(member));
      name.style.paddingInlineStart = `${Math.min(6, Math.max(0, member[DEPTH] - 1))}rem`;
      const copies = this.copies(place);
      if (copies) name.append(copies);
      const shown = columns.map((column, k) => {
        const value = cluster.shown?.[place]?.[k] ?? null;
        return make("td", { class: "shown", "data-column": column }, value === null ? "" : quoted(value));
      });
      const cells = [
        make("th", { scope: "row" }, name),
        ...shown,
        make("td", { class: "wide" }, member[NEAR] === null ? "" : similarityBar(member[NEAR])),
      ];
      if (measured) cells.push(make("td", { class: "number" }, count(member[CHARACTERS])));
      cells.push(make("td", { class: "action" }, this.pairs.includes(place) ? small("Compare", () => this.show(place, true)) : null));
      this.rows[place] = make("tr", {}, cells);
    });
    const titles = heads.filter((head) => head !== null).map((head) => make("th", { scope: "col" }, head));
    const table = tableOf("grid", titles, this.rows.filter(Boolean));
    const left = cluster.documents - cluster.members.length - (cluster.copies || 0);
    const made = section(
      "members",
      "Documents",
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Documents of the cluster" }, table),
      left > 0 || cluster.more.length ? this.others(left) : null,
      settings.judge
        ? button(left > 0 && !cluster.more.length ? "Save the listed ones as CSV" : "Save as CSV", () => this.save(), { class: "small save apart" })
        : null,
    );
    this.dim();
    return made;
  }

  /** Documents without a row: their ids, if the page has them. */
  others(left) {
    const { more, copies } = this.item;
    if (!more.length) {
      return make("p", { class: "quiet" }, `${counted(left, "more document")} ${left === 1 ? "is" : "are"} not listed, to keep the page small.`);
    }
    const fill = () => {
      if (details.children.length > 1) return;
      const one = (member) => [shownId(member[ID]), member[SIMILARITY] === null ? "" : ` (${similarityText(member[SIMILARITY])})`];
      details.append(make("p", { tabindex: "0" }, more.flatMap((member, k) => [k ? ", " : "", one(member)])));
    };
    const these = copies ? `, ${count(copies)} of them copies of the first one` : "";
    const summary = make("summary", {}, `and ${counted(more.length, "more document")}, by id${these}`);
    const details = make("details", { class: "copies others apart", on: { toggle: fill } }, summary);
    return details;
  }

  /** "and 19 exact copies", which lists their ids, and columns; null without any. */
  copies(place) {
    const { members, copies, more, shown } = this.item;
    const listed = [...members.keys()].filter((k) => members[k][COPY_OF] === place);
    const unlisted = place === 0 ? copies || 0 : 0;
    if (!listed.length && !unlisted) return null;
    const many = listed.length + unlisted;
    const columns = (k) => (shown?.[k] || []).filter((value) => value !== null).flatMap((value) => [" · ", quoted(value)]);
    const names = listed.flatMap((k, n) => [n ? ", " : "", shownId(members[k][ID]), columns(k)]);
    if (unlisted) names.push(` and ${count(unlisted)} more that are ${more.length ? "listed by id below" : "not listed"}`);
    return make(
      "details",
      { class: "copies" },
      make("summary", {}, `and ${many === 1 ? "1 exact copy" : counted(many, "exact copy", "exact copies")}`),
      names,
    );
  }

  fate(member) {
    if (member[SIMILARITY] === null) return make("span", { class: "badge kept" }, "kept");
    const removed = make("span", { class: "badge near" }, "removed");
    if (member[TARGET] === null) return removed;
    return make("span", {}, removed, " as a duplicate of ", shownId(member[TARGET]), ` (${similarityText(member[SIMILARITY])})`);
  }

  /** Show which documents are not looked at. */
  dim() {
    this.item.members.forEach((member, place) => {
      const out = member[SIMILARITY] !== null && !this.selection.has(member);
      this.rows[place]?.classList.toggle("below", out);
    });
  }

  /** Something else is looked at. */
  update() {
    this.dim();
    if (!this.pairs.length) return;
    if (this.looked.includes(this.shown)) this.number();
    else this.show(this.first);
  }

  /** Say which pair of those that are looked at is shown. */
  number() {
    const { looked } = this;
    const at = looked.indexOf(this.shown);
    this.place.textContent = at < 0 ? "not selected" : `${count(at + 1)} of ${count(looked.length)}`;
    this.before.disabled = at <= 0;
    this.after.disabled = at === looked.length - 1;
  }

  /** The pair that tells most: that with the lowest similarity of those that are looked at. */
  get first() {
    const { members } = this.item;
    return [...this.looked].sort((p, q) => members[p][NEAR] - members[q][NEAR])[0];
  }

  sides() {
    if (!this.pairs.length) return null;
    const { item: cluster, pairs } = this;
    const copies = (cluster.copies || 0) + cluster.members.filter((member) => member[COPY_OF] >= 0).length;
    const others = cluster.documents - 1 - copies;
    this.before = small("‹", () => this.turn(-1), { "aria-label": "Pair before" });
    this.after = small("›", () => this.turn(1), { "aria-label": "Next pair" });
    this.place = make("span", { class: "quiet" });
    this.result = make("div", { class: "result", "aria-live": "polite" });
    const turning = make("span", { class: "line" }, this.before, this.place, this.after);
    const controls = make("div", { class: "controls line" }, turning, this.judging());
    const sample = pairs.length < others ? `A sample: ${count(pairs.length)} of ${counted(others, "different document")}.` : null;
    const made = section("sides", "Side by side", sample && make("p", { class: "quiet" }, sample), controls, this.result);
    this.show(this.first);
    return made;
  }

  show(place, go) {
    this.shown = place;
    const { members } = this.item;
    const [one, other] = [members[members[place][BASE]], members[place]];
    this.number();
    this.showJudged();
    this.rows.forEach((row, k) => row?.classList.toggle("open", k === place));
    const says = make("p", { class: "pair line" }, make("span", {}, "Exact similarity "), similarityBar(other[NEAR]));
    const held = this.item.hasText(place);
    const parts = held ? this.item.parts(place) : [];
    if (held && parts.every((part) => part.equal)) {
      const same = parts.every((part) => part.a === part.b);
      says.append(make("span", { class: "quiet" }, same ? "No difference." : "No difference but white space."));
    }
    for (const member of [one, other]) {
      if (held && member[CHARACTERS] > this.settings.characters) {
        const cut = `Only the first ${count(this.settings.characters)} of ${count(member[CHARACTERS])} characters of `;
        says.append(make("span", { class: "quiet" }, cut, shownId(member[ID]), " are in the page."));
      }
    }
    const table = held ? this.table(one, other, parts) : null;
    this.result.replaceChildren(says, ...(table ? [table] : []));
    if (go) {
      this.result.closest("section").scrollIntoView({ block: "nearest" });
      ((this.after.disabled && this.right) || this.after).focus({ preventScroll: true });
    }
  }

  /** Both texts in rows: around each difference some words, and folded ones between. */
  table(one, other, parts) {
    const head = [one, other].map((member) => make("th", { scope: "col" }, shownId(member[ID])));
    const rows = [];
    const two = () => [make("td", { dir: "auto" }), make("td", { dir: "auto" })];
    let cells = two();
    const close = () => {
      if (cells.some((cell) => cell.textContent.trim())) rows.push(make("tr", { class: "changed" }, cells));
      cells = two();
    };
    parts.forEach(({ equal, a, b }, k) => {
      if (!equal) {
        if (a) cells[0].append(make("del", {}, a));
        if (b) cells[1].append(make("ins", {}, b));
        return;
      }
      const both = [a, b].map((text) => folds(text, this.settings.context, k === 0, k === parts.length - 1));
      const whole = parts.length === 1 || both[0].length !== both[1].length;
      if (whole) {
        cells.forEach((cell, side) => cell.append(make("span", {}, [a, b][side])));
        return;
      }
      both[0].forEach(([text, words], piece) => {
        if (!words) {
          cells[0].append(make("span", {}, text));
          cells[1].append(make("span", {}, both[1][piece][0]));
          return;
        }
        close();
        rows.push(this.gap(words, [text, both[1][piece][0]]));
      });
    });
    close();
    return tableOf("compared", head, rows);
  }

  /** A row in place of equal words, which shows them. */
  gap(words, texts) {
    const unfold = () => {
      const cells = texts.map((text) => make("td", { dir: "auto" }, text.trim()));
      row.replaceWith(make("tr", { class: "same" }, cells));
    };
    const folded = button(`${count(words)} equal words`, unfold, { class: "fold" });
    const row = make("tr", { class: "gap" }, make("td", { colspan: "2" }, folded));
    return row;
  }

  turn(by) {
    const to = this.looked[this.looked.indexOf(this.shown) + by];
    if (to !== undefined) this.show(to);
    return to !== undefined;
  }

  goOn() {
    const { members } = this.item;
    const waiting = this.looked.find((p) => this.review.of(members[members[p][BASE]][DOC], members[p][DOC]) === undefined);
    if (waiting === undefined) return this.next();
    this.show(waiting);
    return true;
  }

  focus() {
    this.result.closest("section").scrollIntoView();
    super.focus();
  }

  save() {
    const { item: cluster, settings } = this;
    const heads = ["doc_id", "kept", "duplicate_of", "similarity", ...settings.columns, "text"];
    const rows = cluster.every.map((member, place) => {
      const kept = member[SIMILARITY] === null;
      const of = kept ? null : (member[TARGET] ?? cluster.members[member[BASE]]?.[ID]);
      const shown = settings.columns.map((_, k) => cluster.shown?.[place]?.[k] ?? null);
      const text = cluster.hasText(place) ? cluster.textOf(place) : null;
      return [member[ID], String(kept), of, member[SIMILARITY], ...shown, text];
    });
    download(`cluster-${cluster.cluster}.csv`, "text/csv", csv(heads, rows, ["doc_id", "duplicate_of"]));
  }
}
