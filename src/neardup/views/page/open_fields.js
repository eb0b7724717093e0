// Values of two records next to each other, or those of many below each other.

// Records of a group on paper, and characters of each value.
const ROWS = 5;
const IN_CELL = 110;

// Characters of a value that is not broken, such as a year.
const SHORT = 12;

class OpenFields extends Opened {
  get pair() {
    const { pair } = this.item;
    return pair.length ? pair.map(([doc]) => doc) : null;
  }

  body(onPaper) {
    const { about, heads, numbers, soft } = this.item;
    const every = this.item.rows;
    // Three of them take a sheet: sums and further records are left out, long values cut.
    const rows = onPaper ? every.slice(0, soft ? -soft : ROWS).map((row) => row.map((cell) => shortened(cell, IN_CELL))) : every;
    const number = (column, cell) => (numbers.includes(column) ? "number" : cell.length <= SHORT ? "short" : null);
    const cells = (row) => row.map((cell, column) => make(column ? "td" : "th", { class: number(column, cell), scope: column ? null : "row" }, quoted(cell)));
    const table = tableOf(
      "grid",
      heads.map((head, column) => make("th", { scope: "col", class: number(column, head) }, onDemand(head, 40))),
      rows.map((row, k) => make("tr", { class: k >= rows.length - soft ? "quiet" : null }, cells(row))),
    );
    const controls = onPaper ? null : this.judging();
    if (controls) this.showJudged();
    const cut = onPaper && !soft && every.length > ROWS;
    const says = make("p", { class: "quiet" }, cut ? `The first ${ROWS} of them.` : about);
    return [says, controls && make("div", { class: "controls line" }, controls), make("div", { class: "scroll fields", tabindex: "0", role: "region", "aria-label": "Values" }, table)];
  }
}
