// One text, in which marks are buttons that show what they lead to.

// Names in a legend.
const NAMED = 30;

class OpenTexts extends Opened {
  body(onPaper) {
    const { about, parts, cut } = this.item;
    this.source = make("aside", { class: "source", "aria-label": "Source", "aria-live": "polite" });
    const says = make("p", { class: "quiet" }, about);
    if (!parts) return [says, this.legend(), onPaper ? null : this.places()];
    let left = onPaper ? ON_PAPER : Infinity;
    const note = make("div", { class: "note whole", dir: "auto" });
    for (const [text, number, changed] of parts) {
      if (left <= 0) break;
      const shown = text.length > left ? cutAt(text, left) : text;
      left -= shown.length;
      if (number >= 0) note.append(this.mark(shown, number));
      else note.append(make("span", { class: changed ? "changed" : null }, shown));
    }
    const rest = left <= 0 ? restOf("the text") : cut ? make("p", { class: "quiet" }, "The rest of the text is not in this page.") : null;
    const text = make("div", {}, note, rest);
    return [says, this.legend(), onPaper ? text : this.withSource(text)];
  }

  /** Colours of sources: hues that are a golden angle apart, so each differs from all others. */
  coloured(text, { kind, colour }, attributes) {
    const mark = make("mark", { class: kind, ...attributes }, text);
    if (kind === "copy" || kind === "within") mark.style.setProperty("--hue", (40 + colour * 137.508) % 360);
    return mark;
  }

  mark(text, number) {
    const mark = this.item.marks[number];
    if (!mark.heading) return this.coloured(text, mark);
    const show = () => this.show(number);
    const key = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      show();
    };
    const button = { role: "button", tabindex: "0", "aria-pressed": "false", "data-mark": number, on: { click: show, keydown: key } };
    return this.coloured(text, mark, button);
  }

  legend() {
    const names = new Map();
    for (const mark of this.item.marks) if (mark.name && !names.has(mark.name)) names.set(mark.name, mark);
    const items = [...names].slice(0, NAMED).map(([name, mark]) => make("li", {}, this.coloured(shownId(name), mark)));
    if (names.size > NAMED) items.push(make("li", {}, `and ${counted(names.size - NAMED, "more source")}`));
    if (this.item.parts?.some((part) => part[2])) items.push(make("li", {}, make("span", { class: "changed" }, "changed words")));
    return items.length ? make("ul", { class: "legend line" }, items) : null;
  }

  /** Where marks are, without texts. */
  places() {
    const items = this.item.marks.map(({ here }, number) => here && make("li", {}, this.mark(here, number)));
    return this.withSource(make("ul", { class: "places" }, items));
  }

  /** What has marks, and next to it what they lead to, the first copy from elsewhere to begin with. */
  withSource(marked) {
    const { marks } = this.item;
    if (!marks.some((mark) => mark.heading)) return marked;
    const both = make("div", { class: "with-source" }, marked, this.source);
    const copied = marks.findIndex((mark) => mark.kind === "copy" && mark.heading);
    if (matchMedia("(min-width: 901px)").matches) this.show(Math.max(0, copied));
    return both;
  }

  /** Show what a mark leads to. */
  show(number) {
    const mark = this.item.marks[number];
    for (const other of this.source.parentNode.querySelectorAll("mark[data-mark]")) {
      other.setAttribute("aria-pressed", String(Number(other.dataset.mark) === number));
    }
    this.source.replaceChildren(make("h4", {}, onDemand(mark.heading, 100)), make("p", { class: "quiet" }, mark.about));
    if (!mark.text) return;
    const [before, inside, behind] = mark.text;
    const there = this.coloured(inside, mark);
    const note = make("div", { class: "note", dir: "auto" }, before, there, behind);
    this.source.append(note);
    note.scrollTop = there.offsetTop - note.offsetTop - 40;
  }
}
