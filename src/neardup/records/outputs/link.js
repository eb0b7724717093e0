// Search among clusters, and pairs that are marked and saved.
const clusters = [...document.querySelectorAll(".cluster")];
const words = clusters.map((cluster) => cluster.textContent.toLowerCase());
const search = document.getElementById("search");
const matching = document.getElementById("matching");
search.addEventListener("input", () => {
  const asked = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  clusters.forEach((cluster, k) => {
    const found = asked.every((word) => words[k].includes(word));
    cluster.hidden = !found;
    shown += found;
  });
  matching.textContent = asked.length ? `${shown} of ${clusters.length}` : "";
});

const marks = new Map();
const save = document.getElementById("save");
const marked = document.getElementById("marked");
for (const pair of document.querySelectorAll(".pair")) {
  const buttons = [...pair.querySelectorAll("button")];
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const same = marks.get(pair) === button.dataset.mark;
      if (same) marks.delete(pair);
      else marks.set(pair, button.dataset.mark);
      for (const other of buttons) {
        other.setAttribute("aria-pressed", String(other.dataset.mark === marks.get(pair)));
      }
      save.disabled = !marks.size;
      marked.textContent = `${marks.size} marked`;
    });
  }
}

const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
save.addEventListener("click", () => {
  const rows = [...marks].map(([pair, mark]) =>
    [quoted(pair.dataset.a), quoted(pair.dataset.b), mark].join(","),
  );
  const data = ["id_a,id_b,duplicate", ...rows, ""].join("\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data], { type: "text/csv" }));
  link.download = "labels.csv";
  link.click();
  URL.revokeObjectURL(link.href);
});
