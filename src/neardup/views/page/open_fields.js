// Values of two records next to each other, or those of many below each other.

class OpenFields extends Opened {
  get pair() {
    const { pair } = this.item;
    return pair.length ? pair.map(([doc]) => doc) : null;
  }

  body(onPaper) {
    const { about, heads, rows, numbers, soft } = this.item;
    const number = (column) => (numbers.includes(column) ? "number" : null);
    const cells = (row) => row.map((cell, column) => make(column ? "td" : "th", { class: number(column), scope: column ? null : "row" }, quoted(cell)));
    const table = tableOf(
      "grid",
      heads.map((head, column) => make("th", { scope: "col", class: number(column) }, quoted(head))),
      rows.map((row, k) => make("tr", { class: k >= rows.length - soft ? "quiet" : null }, cells(row))),
    );
    const controls = onPaper ? null : this.judging();
    if (controls) this.showJudged();
    const says = make("p", { class: "quiet" }, about);
    return [says, controls && make("div", { class: "controls line" }, controls), make("div", { class: "scroll fields", tabindex: "0", role: "region", "aria-label": "Values" }, table)];
  }
}
