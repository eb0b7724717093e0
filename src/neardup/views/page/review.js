// Review: pairs that a person has judged, kept in this browser and saved as a file.

class Review {
  /**
   * judge says what is saved, see `neardup.views.page.page_model`; box is where numbers are shown;
   * undone takes the last one back and shows it.
   */
  constructor(judge, library, box, undone) {
    Object.assign(this, { judge, undone, key: "neardup-review-" + judge?.key, library, box });
    this.order = []; // those judged since the page was opened
    // Numbers of both documents, as text: whether it is right.
    this.pairs = new Map(JSON.parse((judge && stored(this.key)) || "[]"));
    this.draw();
  }

  /** true, false, or undefined where nobody has judged. */
  of(one, other) {
    return this.pairs.get(`${one},${other}`);
  }

  /** Judge a pair; undefined takes it back. */
  set(one, other, right) {
    const key = `${one},${other}`;
    this.order = this.order.filter((other) => other !== key);
    if (right === undefined) this.pairs.delete(key);
    else {
      this.pairs.set(key, right);
      this.order.push(key);
    }
    store(this.key, JSON.stringify([...this.pairs]));
    this.draw();
  }

  /** Take the last judgement back; return both numbers, null if there is none. */
  undo() {
    const last = this.order[this.order.length - 1];
    if (last === undefined) return null;
    const pair = last.split(",").map(Number);
    this.set(...pair, undefined);
    return pair;
  }

  draw() {
    if (!this.judge) return;
    const judged = [...this.pairs.values()];
    const right = judged.filter((same) => same).length;
    const { file, right: yes, wrong: no } = this.judge;
    this.box.hidden = !judged.length;
    this.box.replaceChildren(
      make("span", { role: "status" }, `${counted(judged.length, "pair")} judged: ${count(right)} ${yes.toLowerCase()}, ${count(judged.length - right)} ${no.toLowerCase()}`),
      " ",
      button(`Save ${file}`, () => this.save(), { class: "small" }),
      " ",
      button("Undo", () => this.undone(), { class: "small", title: "u", disabled: !this.order.length }),
    );
  }

  save() {
    const ids = new Map(this.library.items.flatMap((item) => item.judged.map(([doc, id]) => [String(doc), id])));
    const rows = [...this.pairs].map(([key, same]) => [...key.split(",").map((doc) => ids.get(doc)), String(same)]);
    download(this.judge.file, "text/csv", csv(["id_a", "id_b", "duplicate"], rows, ["id_a", "id_b"]));
  }
}
