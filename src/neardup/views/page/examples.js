// Some items for paper, which has no list to choose from.

const EXAMPLES = 10;

/** Characters of each text of an example, and of two that are side by side: two fit on a sheet. */
const ON_PAPER = 1200;
const SIDE_BY_SIDE = 750;

/** Characters that a text takes, whose lines have some forty. */
function sizeOf(text) {
  return text.length + 40 * (text.split("\n").length - 1);
}

/** The first words of a text, of so many characters. */
function beginning(text, length) {
  return text.length <= length ? text : text.slice(0, length).replace(/\S{1,30}$/, "");
}

/** The first parts of two texts, as far as there is room, and whether there are more. */
function firstParts(parts, context) {
  const shown = [];
  let left = SIDE_BY_SIDE;
  for (const { equal, a, b } of parts) {
    if (left <= 0) return [shown, true];
    // Of equal words only those around differences are shown; a word has some eight characters.
    const size = equal ? Math.min(sizeOf(a), 16 * context) : Math.max(sizeOf(a), sizeOf(b));
    const cut = !equal && size > left;
    shown.push(cut ? { equal, a: beginning(a, left), b: beginning(b, left) } : { equal, a, b });
    if (cut) return [shown, true];
    left -= size;
  }
  return [shown, false];
}

function restOf(what) {
  return make("p", { class: "rest" }, `The rest of ${what} is left out on paper.`);
}

/** Half of them the largest clusters with differences, the others those with the lowest similarity. */
function chosenClusters(clusters) {
  const withTexts = [...clusters.keys()].filter((k) => clusters[k].hasText(0));
  const differ = withTexts.filter((k) => clusters[k].lowest !== 1);
  const lowest = [...differ].sort((p, q) => clusters[p].key("lowest") - clusters[q].key("lowest"));
  const chosen = new Set([...differ.slice(0, EXAMPLES / 2), ...lowest, ...withTexts]);
  return [...chosen].slice(0, EXAMPLES).sort((p, q) => p - q);
}

/** The first ones of each group, as many of each as there is room for. */
function firstOfEach(items) {
  const groups = new Set(items.map(({ group }) => group)).size;
  const seen = {};
  return [...items.keys()].filter((k) => {
    const { group } = items[k];
    seen[group] = (seen[group] ?? 0) + 1;
    return seen[group] <= Math.floor(EXAMPLES / groups);
  });
}

function examples(items, context) {
  const chosen = items[0] instanceof Cluster ? chosenClusters(items) : firstOfEach(items);
  return chosen.map((k) => items[k].opened(context).example()).filter(Boolean);
}
