// The list: searched, sorted, in pages.

const PER_PAGE = matchMedia("(max-width: 900px)").matches ? 10 : 20;

// Characters of an id in a row.
const IN_ROW = 36;

// Values of a column that can be chosen from.
const CHOICES = 500;

/** The list next to what is open. */
class List {
  /**
   * parts: elements search, order, group, columns, status, rows, pages, of which order and group
   * may be missing; opened is called with the number of an item and the button that opened it.
   */
  constructor(library, selection, settings, parts, opened) {
    Object.assign(this, { library, selection, settings, parts, opened });
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
    this.columns = settings.columns.map((column) => this.column(column)).filter(Boolean);
    for (const chosen of [parts.order, parts.group, ...this.columns]) chosen?.addEventListener("change", () => this.find());
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

  /** A choice of the values of a column, for the tools; null where that has one value, or many. */
  column(column) {
    const values = new Set(this.library.items.flatMap((item) => item.valuesOf(column)));
    if (values.size < 2 || values.size > CHOICES) return null;
    const options = [...values].sort(compared).map((value) => make("option", { value }, cutAt(value, 60)));
    const id = "column-" + this.parts.columns.childElementCount;
    const chosen = make("select", { id, "data-column": column }, make("option", { value: "" }, "All"), options);
    this.parts.columns.append(make("div", { class: "field" }, make("label", { for: id }, quoted(column)), chosen));
    return chosen;
  }

  /** The key of an item in an order, of which those by columns have the number of one. */
  sortKey(item, order) {
    const column = /^column (\d+)$/.exec(order);
    return column ? item.valuesOf(this.settings.columns[column[1]])[0] ?? "\uffff" : item.key(order);
  }

  /** Search and sort again, and show the first page. */
  find() {
    this.terms = termsOf(this.parts.search.value);
    const order = this.parts.order?.value;
    const { items } = this.library;
    this.group = this.parts.group?.value ? Number(this.parts.group.value) : null;
    this.values = this.columns.filter((one) => one.value).map((one) => [one.dataset.column, one.value]);
    const keys = items.map((item) => this.sortKey(item, order));
    this.found = this.library
      .search(this.terms, this.selection, this.group, this.values)
      .sort((j, k) => compared(keys[j], keys[k]) || items[j].at - items[k].at);
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
    const { one, many } = this.settings;
    const all = counted(this.library.items.length, one, many);
    const some = this.terms.length || !this.selection.all || this.group !== null || this.values.length;
    const what = some ? `${count(this.found.length)} of ${all} found` : all;
    this.parts.status.textContent = this.found.length > shown.length
      ? `${what}; ${count(from + 1)} to ${count(from + shown.length)} shown`
      : what;
    this.drawPages();
  }

  drawPages() {
    const turn = (name, label, page) =>
      button(name, () => this.turn(page), { "aria-label": label, disabled: page < 0 || page >= this.pages });
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
    const item = this.library.items[k];
    const { names, texts } = item;
    const size = item.size === undefined ? [] : [make("span", { class: "row-size" }, count(item.size)), " "];
    const body = [make("span", { class: "row-head" }, size, shownId(names[0], IN_ROW))];
    if (texts.length) {
      const hit = texts.find((text) => this.terms.some((term) => plain(text).includes(term)));
      body.push(make("span", { class: "row-text" }, snippet(hit ?? texts[0], this.terms, 110)));
    }
    // The document that was searched for, where the row does not name it.
    const first = (test) => (this.terms.length ? names.findIndex((name) => this.terms[test]((term) => plain(name).includes(term))) : -1);
    const named = first("every") >= 0 ? first("every") : first("some");
    if (named > 0) body.push(make("span", { class: "row-text" }, "with ", snippet(names[named], this.terms, 80)));
    const [says, flag] = item.foot(this.selection);
    const foot = says.map((one) => make("span", {}, one));
    if (flag) foot.push(make("span", { class: "flag" }, flag));
    body.push(make("span", { class: "quiet line" }, foot.flatMap((part) => [part, " "])));
    const opens = button(body.flatMap((part) => [part, " "]), () => this.opened(k, opens), {
      class: "row",
      tabindex: row === this.marked ? "0" : "-1",
      "data-item": item.at,
      "aria-current": this.open === k ? "true" : null,
    });
    return make("li", {}, opens);
  }

  button(row) {
    return this.parts.rows.children[row]?.firstChild;
  }

  /** The next item after the open one that passes a test, turning the page if needed: [number, button]. */
  next(test) {
    const from = this.found.indexOf(this.open) + 1;
    const place = this.found.findIndex((k, at) => at >= from && test(k));
    if (place < 0) return null;
    const page = Math.floor(place / PER_PAGE);
    if (page !== this.page) {
      this.page = page;
      this.draw();
    }
    return [this.found[place], this.button(place % PER_PAGE)];
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
    const keys = { ArrowDown: row + 1, ArrowUp: row - 1, Home: 0, End: last, PageDown: last + 1, PageUp: -1 };
    const to = keys[event.key];
    const page = this.page + (to > last) - (to < 0);
    if (to === undefined || page < 0 || page >= this.pages) return;
    event.preventDefault();
    if (page !== this.page) this.turn(page);
    if (to >= 0 && to <= last) this.mark(to, true);
    else if (event.key === "ArrowUp") this.mark(PER_PAGE - 1, true);
  }

  /** Show which item is open. */
  setOpen(k) {
    this.open = k;
    const label = k === null ? null : String(this.library.items[k].at);
    for (const item of this.parts.rows.children) {
      if (item.firstChild.dataset.item === label) {
        item.firstChild.setAttribute("aria-current", "true");
        this.scrollTo(item);
      } else item.firstChild.removeAttribute("aria-current");
    }
  }

  /** Scroll the list, but not the page, to a row. */
  scrollTo(item) {
    const { rows } = this.parts;
    const [row, box] = [item, rows].map((element) => element.getBoundingClientRect());
    if (row.top < box.top) rows.scrollTop -= box.top - row.top;
    else if (row.bottom > box.bottom) rows.scrollTop += row.bottom - box.bottom;
  }
}
