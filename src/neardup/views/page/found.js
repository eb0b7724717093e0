// What was found: the threshold slider, the histogram, the table of a column, and active filters.

class Found {
  /** changed is called when something else is looked at. */
  constructor(data, selection, { clusters }, changed) {
    Object.assign(this, { data, selection, total: clusters, changed });
    find("cutoff").max = String(data.slider.at.length - 1);
    find("cutoff").addEventListener("input", () => {
      selection.step = Number(find("cutoff").value);
      this.update();
    });
    this.bars = data.histogram.map(([low, high, number]) => this.bar(low, high, number));
    const most = Math.max(0, ...data.histogram.slice(0, -1).map(([, , number]) => number));
    const atOne = data.histogram[data.histogram.length - 1][2];
    // One scale, unless the bar at 1 would leave nothing to see of the others: then it is broken.
    const broken = most > 0 && atOne > 4 * most;
    const top = broken ? most / 0.6 : Math.max(1, most, atOne);
    for (const { button, number, exact } of this.bars) {
      button.querySelector("svg").append(...shapes(Math.max(2, (100 * number) / top), number, broken && exact));
    }
    find("bars").classList.toggle("crowded", this.bars.length > 8);
    find("bars").replaceChildren(...this.bars.flatMap(({ button }) => [button, " "]));
    find("broken").textContent = broken
      ? ` The bar at 1 is broken: on the scale of the others it would be ${count(Math.round(atOne / most))} times as high as the highest of them.`
      : "";
    this.cells = [...document.querySelectorAll("[data-cell]")];
    for (const button of this.cells) {
      button.addEventListener("click", () => {
        const cell = Number(button.dataset.cell);
        selection.cell = selection.cell?.[0] === cell ? null : [cell, button.dataset.names];
        this.update(selection.cell !== null);
      });
    }
    find("similarities").hidden = false;
    this.update();
  }

  bar(low, high, number) {
    const exact = low === 1;
    const name = exact ? "similarity 1" : `similarity ${trimmed(low)} to ${trimmed(high)}`;
    const face = [
      make("span", { class: "number" }, number ? compact(number) : ""),
      " ",
      make("span", { class: "column" }, drawn("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" })),
      make("span", { class: "tick" }, trimmed(low)),
    ];
    const choose = () => {
      const { selection } = this;
      selection.bar = selection.bar?.[0] === low ? null : [low, high, name];
      this.update(selection.bar !== null);
    };
    const chosen = button(face, choose, {
      class: exact ? "bar-button exact" : "bar-button near",
      "aria-label": `${name}: ${counted(number, "removed document")}`,
      disabled: number === 0,
    });
    return { low, high, number, exact, button: chosen };
  }

  /** Show what is looked at; go to the list if something was chosen in it. */
  update(go) {
    const { selection, data, total } = this;
    const { slider } = data;
    const threshold = selection.threshold;
    const [removed, clusters] = [slider.removed[selection.step], slider.clusters[selection.step]];
    find("cutoff-value").textContent = trimmed(threshold);
    find("cutoff").setAttribute("aria-valuetext", trimmed(threshold));
    const says = `${count(removed)} of ${counted(slider.removed[0], "removed document")}, in ${count(clusters)} of ${counted(total, "cluster")}.`;
    const hint = selection.step
      ? ` With the threshold ${trimmed(threshold)} about as many would be removed; neardup recluster --threshold ${trimmed(threshold)} finds exactly which.`
      : " Move the slider to see what a higher threshold would leave.";
    find("cutoff-says").replaceChildren(make("strong", {}, says), hint);
    for (const { low, high, button } of this.bars) {
      button.classList.toggle("below", low < 1 && high <= threshold + 1e-9);
      button.setAttribute("aria-pressed", String(selection.bar?.[0] === low));
    }
    for (const button of this.cells) {
      const number = data.heat[button.dataset.cell][selection.step];
      button.textContent = count(number);
      button.disabled = number === 0;
      button.setAttribute("aria-pressed", String(selection.cell?.[0] === Number(button.dataset.cell)));
    }
    const active = [];
    const drop = (name, none, label) => {
      const clear = () => {
        selection[name] = none;
        find("cutoff").value = String(selection.step);
        this.update();
        find("search").focus();
      };
      active.push(button([quoted(label), " ✕"], clear, { class: "small filter", "aria-label": `Stop showing only ${label}` }));
    };
    if (selection.step) drop("step", 0, `similarity from ${trimmed(threshold)}`);
    if (selection.bar) drop("bar", null, selection.bar[2]);
    if (selection.cell) drop("cell", null, selection.cell[1]);
    find("filters").replaceChildren("Only ", ...active);
    find("filters").hidden = !active.length;
    this.changed(Boolean(go));
  }
}

/** The shapes of a bar of so many hundredths: pictures are printed, backgrounds are not. */
function shapes(height, number, broken) {
  if (!number) return [];
  if (!broken) return [drawn("rect", { x: 0, y: 100 - height, width: 100, height })];
  const gap = [72, 80];
  return [
    drawn("polygon", { points: `0,100 0,${100 - gap[0] + 4} 100,${100 - gap[0] - 4} 100,100` }),
    drawn("polygon", { points: `0,0 0,${100 - gap[1] + 4} 100,${100 - gap[1] - 4} 100,0` }),
  ];
}

/** A count that fits above a bar. */
function compact(number) {
  const short = { notation: "compact", maximumFractionDigits: 1 };
  return number < 10000 ? count(number) : number.toLocaleString("en", short);
}

/** A number without needless zeros. */
function trimmed(value) {
  return String(Math.round(value * 10000) / 10000);
}
