// Review: pairs that a person has judged, kept in this browser and saved as a file.

class Review {
  /** name distinguishes runs; box is where the numbers are shown. */
  constructor(name, library, box) {
    Object.assign(this, { key: "neardup-review-" + name, library, box });
    this.pairs = new Map(); // numbers of both documents, as text: whether it is right
    try {
      this.pairs = new Map(JSON.parse(localStorage.getItem(this.key) || "[]"));
    } catch {
      // A page from a file may have no storage; then what is judged lasts as long as the page.
    }
    this.draw();
  }

  /** true, false, or undefined where nobody has judged. */
  of(one, other) {
    return this.pairs.get(`${one[DOC]},${other[DOC]}`);
  }

  /** Judge a pair; undefined takes it back. */
  set(one, other, right) {
    const key = `${one[DOC]},${other[DOC]}`;
    if (right === undefined) this.pairs.delete(key);
    else this.pairs.set(key, right);
    try {
      localStorage.setItem(this.key, JSON.stringify([...this.pairs]));
    } catch {
      // As above.
    }
    this.draw();
  }

  draw() {
    const judged = [...this.pairs.values()];
    const right = judged.filter((same) => same).length;
    this.box.hidden = !judged.length;
    this.box.replaceChildren(
      make("span", { role: "status" }, `${counted(judged.length, "pair")} judged: ${count(right)} right, ${count(judged.length - right)} wrong`),
      " ",
      make("button", { type: "button", class: "small", on: { click: () => this.save() } }, "Save review.csv"),
    );
  }

  save() {
    const ids = new Map();
    for (const cluster of this.library.clusters) {
      for (const member of everyOf(cluster)) ids.set(String(member[DOC]), member[ID]);
    }
    const rows = [...this.pairs].map(([key, same]) => {
      const [one, other] = key.split(",");
      return [ids.get(one), ids.get(other), String(same)];
    });
    download("review.csv", "text/csv", csv(["id_a", "id_b", "duplicate"], rows, ["id_a", "id_b"]));
  }
}
