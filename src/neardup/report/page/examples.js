// Ten clusters for paper, which has no list to choose from: of each the pair that differs most.

const EXAMPLES = 10;

/** Characters of each text that a page of paper has room for. */
const ON_PAPER = 2000;

/** The first parts of two texts, as far as there is room, and whether there are more. */
function firstParts(parts, context) {
  const shown = [];
  let left = ON_PAPER;
  for (const { equal, a, b } of parts) {
    if (left <= 0) return [shown, true];
    // Of equal words only those around differences are shown; a word has some eight characters.
    const size = equal ? Math.min(a.length, 16 * context) : Math.max(a.length, b.length);
    const cut = !equal && size > left;
    shown.push(cut ? { equal, a: a.slice(0, left), b: b.slice(0, left) } : { equal, a, b });
    if (cut) return [shown, true];
    left -= size;
  }
  return [shown, false];
}

/** Half of them the largest clusters with differences, the others those with the lowest similarity. */
function chosenClusters(clusters) {
  const withTexts = [...clusters.keys()].filter((k) => clusters[k].texts);
  const differ = withTexts.filter((k) => clusters[k].lowest !== 1);
  const chosen = new Set(differ.slice(0, EXAMPLES / 2));
  const by = (k) => clusters[k].lowest ?? 1;
  for (const k of [...differ].sort((p, q) => by(p) - by(q))) if (chosen.size < EXAMPLES) chosen.add(k);
  for (const k of withTexts) if (chosen.size < EXAMPLES) chosen.add(k);
  return [...chosen].sort((p, q) => p - q);
}

function chosenExamples(context) {
  const { library } = context;
  return chosenClusters(library.clusters).flatMap((k) => {
    const opened = new Cluster(context, k, () => false);
    const { cluster } = opened;
    if (!opened.pairs.length) return [];
    const place = opened.first;
    const other = cluster.members[place];
    const one = cluster.members[other[BASE]];
    const removed = cluster.documents - cluster.kept;
    const says = `${count(cluster.kept)} kept, ${count(removed)} removed; these two have the similarity ${similarityText(other[NEAR])}.`;
    const heading = make("h3", {}, `${counted(cluster.documents, "document")} like `, shownId(cluster.members[0][ID]));
    const [parts, more] = firstParts(library.parts(cluster, place), context.settings.context);
    const rest = more ? make("p", { class: "rest" }, "The rest of both texts is left out on paper.") : "";
    return make("article", { class: "example" }, heading, make("p", {}, says), opened.table(one, other, parts), rest);
  });
}
