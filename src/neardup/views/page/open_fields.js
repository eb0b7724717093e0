// Values of two records next to each other, or those of many below each other.

// Records of a group on paper, their columns, and characters of each value.
const ROWS = 5;
const COLUMNS = 10;
const IN_CELL = 110;

// A longer word, such as an address, is broken.
const LONG_WORD = /[^\s_-]{13}/;

/** The name of a column, which is broken after low lines. */
function columnName(head) {
  if (head.length > 40) return onDemand(head, 40);
  return quoted(head.split(/(?<=_)/).flatMap((part) => [part, make("wbr")]));
}

class OpenFields extends Opened {
  get pair() {
    const { pair } = this.item;
    return pair.length ? pair.map(([doc]) => doc) : null;
  }

  body(onPaper) {
    const { about, numbers, soft } = this.item;
    const heads = onPaper ? this.item.heads.slice(0, COLUMNS) : this.item.heads;
    const every = this.item.rows;
    // Three of them take a sheet: sums and further records are left out, long values cut.
    const rows = onPaper ? every.slice(0, soft ? -soft : ROWS).map((row) => row.slice(0, COLUMNS).map((cell) => shortened(cell, IN_CELL))) : every;
    const number = (column, cell) => (numbers.includes(column) ? "number" : LONG_WORD.test(cell) ? null : "words");
    const cells = (row) => row.map((cell, column) => make(column ? "td" : "th", { class: number(column, cell), scope: column ? null : "row" }, quoted(cell)));
    const table = tableOf(
      "grid",
      heads.map((head, column) => make("th", { scope: "col", class: number(column, head) }, columnName(head))),
      rows.map((row, k) => make("tr", { class: k >= rows.length - soft ? "quiet" : null }, cells(row))),
    );
    const controls = onPaper ? null : this.judging();
    if (controls) this.showJudged();
    let says = onPaper && !soft && every.length > ROWS ? `The first ${ROWS} of them.` : about;
    if (heads.length < this.item.heads.length) says += ` Their first ${COLUMNS} columns.`;
    return [make("p", { class: "quiet" }, says), controls && make("div", { class: "controls line" }, controls), make("div", { class: "scroll fields", tabindex: "0", role: "region", "aria-label": "Values" }, table)];
  }
}
