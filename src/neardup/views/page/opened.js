// What is open: its heading, and buttons to judge two documents or records.

function section(name, title, ...children) {
  return make(
    "section",
    { class: name, "aria-labelledby": "title-" + name },
    make("h4", { id: "title-" + name }, title),
    children,
  );
}

function small(label, click, more) {
  return button(label, click, { class: "small", ...more });
}

class Opened {
  /** context: settings, selection, review, and next, which opens the next item. */
  constructor(context, item) {
    Object.assign(this, context, { item });
  }

  /** What is shown; close is called by its button. */
  draw(close) {
    const heading = make("h3", { tabindex: "-1" }, this.heading());
    const back = button("✕", close, { class: "close", "aria-label": `Close this ${this.settings.one}` });
    const head = make("div", { class: "item-head" }, heading, back);
    return [head, ...this.body()].filter(Boolean);
  }

  heading() {
    return onDemand(this.item.heading, 120);
  }

  /** It for paper; null if there is nothing to show. */
  example() {
    return make("article", { class: "example" }, make("h3", {}, this.heading()), this.body(true).filter(Boolean));
  }

  /** Numbers and ids of the two that are judged now; null if there are none. */
  get pair() {
    return null;
  }

  /** Something else is looked at. */
  update() {}

  /** Question and buttons; null where nothing can be judged. */
  judging() {
    const { judge } = this.settings;
    if (!judge || !this.pair) return null;
    this.right = small("✓ " + judge.right, () => this.judge(true), { title: judge.keys[0] });
    this.wrong = small("✗ " + judge.wrong, () => this.judge(false), { title: judge.keys[1] });
    return make("span", { class: "line judge", role: "group", "aria-label": judge.question }, judge.question, this.right, this.wrong);
  }

  showJudged() {
    if (!this.right) return;
    const judged = this.review.of(...this.pair);
    this.right.setAttribute("aria-pressed", String(judged === true));
    this.wrong.setAttribute("aria-pressed", String(judged === false));
  }

  /** Judge the pair that is shown, and go on; a second time takes it back. */
  judge(right) {
    if (!this.right) return;
    if (this.review.of(...this.pair) === right) {
      this.review.set(...this.pair, undefined);
      this.showJudged();
      return;
    }
    this.review.set(...this.pair, right);
    if (!this.goOn()) this.showJudged();
  }

  /** Show the next pair that can be judged; false if there is none. */
  goOn() {
    return this.next();
  }

  /** Go to where the next pair is judged. */
  focus() {
    this.right?.focus({ preventScroll: true });
  }
}
