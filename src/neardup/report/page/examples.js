// Ten clusters for paper, which has no list to choose from: of each the pair that differs most.

const EXAMPLES = 10;

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
    return make("article", { class: "example" }, heading, make("p", {}, says), opened.table(one, other, library.parts(cluster, place)));
  });
}
