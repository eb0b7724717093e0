// What differs between two texts, word by word.

const UNSPACED =
  "\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}";
// A word with the white space after it; in scripts without blanks each character is a word.
const WORD = new RegExp(
  `(?:[${UNSPACED}]\\p{M}*|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}_])+|\\S)\\s*|\\s+`,
  "gu",
);
// Changes up to which the shortest way from one text to the other is looked for.
const MOST_CHANGES = 1000;
// Equal words between two changes are taken for chance if they are at most a fourth of each.
const CHANCE = 4;

/**
 * Compare two texts.
 *
 * Returns { a, b, parts }: the words of both, and parts [equal, fromA, toA, fromB, toB] in order,
 * places in the words. Words of equal parts may differ in the white space after them.
 */
function compareTexts(textA, textB) {
  const a = textA.match(WORD) || [];
  const b = textB.match(WORD) || [];
  const numbers = new Map();
  const numbered = (words) =>
    Int32Array.from(words, (word) => {
      const key = word.trimEnd() || " ";
      if (!numbers.has(key)) numbers.set(key, numbers.size);
      return numbers.get(key);
    });
  const match = new Int32Array(a.length).fill(-1);
  align(numbered(a), numbered(b), match);
  return { a, b, parts: withoutChance(partsOf(match, b.length)) };
}

/** Put into match[i] the place in b of the word that a[i] is equal to. */
function align(a, b, match) {
  const open = [[0, a.length, 0, b.length]];
  while (open.length) {
    let [fromA, toA, fromB, toB] = open.pop();
    while (fromA < toA && fromB < toB && a[fromA] === b[fromB]) match[fromA++] = fromB++;
    while (fromA < toA && fromB < toB && a[toA - 1] === b[toB - 1]) match[--toA] = --toB;
    if (fromA === toA || fromB === toB) continue;
    const way = shortestWay(a.subarray(fromA, toA), b.subarray(fromB, toB));
    if (!way.whole) {
      // Too many changes: words that occur once in each cut the texts into smaller pieces.
      const fixed = anchors(a, fromA, toA, b, fromB, toB);
      if (fixed.length) {
        let [lastA, lastB] = [fromA, fromB];
        for (const [i, j] of [...fixed, [toA, toB]]) {
          open.push([lastA, i, lastB, j]);
          if (i < toA) match[i] = j;
          [lastA, lastB] = [i + 1, j + 1];
        }
        continue;
      }
      open.push([fromA + way.x, toA, fromB + way.y, toB]);
    }
    for (const [i, j] of way.pairs) match[fromA + i] = fromB + j;
  }
}

/**
 * The way of fewest changes (Myers 1986), or as far as MOST_CHANGES lead.
 *
 * Returns { whole, x, y, pairs }: whether it leads to the end, how far it leads, and equal words.
 */
function shortestWay(a, b) {
  const most = Math.min(a.length + b.length, MOST_CHANGES);
  const middle = most + 1;
  const far = new Int32Array(2 * most + 3);
  const trace = [];
  let changes = 0;
  let end = null;
  for (; end === null && changes <= most; changes++) {
    trace.push(far.slice(middle - changes - 1, middle + changes + 2));
    for (let k = -changes; k <= changes; k += 2) {
      const down = k === -changes || (k !== changes && far[middle + k - 1] < far[middle + k + 1]);
      let x = down ? far[middle + k + 1] : far[middle + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      far[middle + k] = x;
      if (x >= a.length && x - k >= b.length) end = k;
    }
  }
  changes--;
  const whole = end !== null;
  if (!whole) {
    // The diagonal that leads farthest, of those that stay within both texts.
    for (let k = -changes; k <= changes; k += 2) {
      const x = far[middle + k];
      if (x > a.length || x - k > b.length) continue;
      if (end === null || 2 * x - k > 2 * far[middle + end] - end) end = k;
    }
  }
  const pairs = [];
  if (end === null) return { whole: true, x: a.length, y: b.length, pairs };
  let x = far[middle + end];
  let y = x - end;
  const reached = { x, y };
  for (let d = changes; d >= 0; d--) {
    const before = trace[d];
    const at = (k) => before[k + d + 1];
    const k = x - y;
    const down = k === -d || (k !== d && at(k - 1) < at(k + 1));
    const startX = d === 0 ? 0 : down ? at(k + 1) : at(k - 1) + 1;
    while (x > startX) pairs.push([--x, --y]);
    if (d > 0) {
      if (down) y--;
      else x--;
    }
  }
  return { whole, ...reached, pairs };
}

/** Words that occur once in each piece, as many as have the same order in both. */
function anchors(a, fromA, toA, b, fromB, toB) {
  const once = (words, from, to) => {
    const places = new Map();
    for (let i = from; i < to; i++) places.set(words[i], places.has(words[i]) ? -1 : i);
    return places;
  };
  const inA = once(a, fromA, toA);
  const inB = once(b, fromB, toB);
  const found = [];
  for (const [word, i] of inA) {
    const j = inB.get(word);
    if (i >= 0 && j !== undefined && j >= 0) found.push([i, j]);
  }
  found.sort((one, other) => one[0] - other[0]);
  // The longest run that ascends in b as well.
  const last = [];
  const before = new Int32Array(found.length).fill(-1);
  for (let k = 0; k < found.length; k++) {
    let [low, high] = [0, last.length];
    while (low < high) {
      const half = (low + high) >> 1;
      if (found[last[half]][1] < found[k][1]) low = half + 1;
      else high = half;
    }
    if (low) before[k] = last[low - 1];
    last[low] = k;
  }
  const run = [];
  for (let k = last.length ? last[last.length - 1] : -1; k >= 0; k = before[k]) run.push(found[k]);
  return run.reverse();
}

function partsOf(match, lengthB) {
  const parts = [];
  let [i, j] = [0, 0];
  while (i < match.length || j < lengthB) {
    const [fromA, fromB] = [i, j];
    if (i < match.length && match[i] === j) {
      while (i < match.length && match[i] === j) [i, j] = [i + 1, j + 1];
      parts.push([true, fromA, i, fromB, j]);
    } else {
      while (i < match.length && match[i] < 0) i++;
      j = i < match.length ? match[i] : lengthB;
      parts.push([false, fromA, i, fromB, j]);
    }
  }
  return parts;
}

function withoutChance(parts) {
  const out = [];
  const size = ([, fromA, toA, fromB, toB]) => Math.max(toA - fromA, toB - fromB);
  parts.forEach((part, k) => {
    const between = k > 0 && k < parts.length - 1;
    const chance =
      part[0] && between && size(part) * CHANCE <= Math.min(size(parts[k - 1]), size(parts[k + 1]));
    const equal = part[0] && !chance;
    const last = out[out.length - 1];
    if (last && last[0] === equal) [last[2], last[4]] = [part[2], part[4]];
    else out.push([equal, ...part.slice(1)]);
  });
  return out;
}

/**
 * Cut a comparison into rows that stand side by side.
 *
 * Returns rows { changed, ends, a, b }: on each side pieces [changed, text], and whether a paragraph
 * ends there. White space between words is not marked as changed, and line ends at the end of a row
 * are left out, since the row ends there.
 */
function rowsOf({ a, b, parts }) {
  const rows = [];
  let row = null;
  let words = 0;
  const close = () => {
    if (row) {
      for (const side of [row.a, row.b]) {
        const last = side[side.length - 1];
        if (!last) continue;
        const end = /\s*$/.exec(last[1])[0];
        if ((end.match(/\n/g) || []).length > 1) row.ends = true;
        if (end.includes("\n")) last[1] = last[1].slice(0, last[1].length - end.length);
      }
      rows.push(row);
    }
    row = null;
    words = 0;
  };
  const open = () => (row = row || { changed: false, ends: false, a: [], b: [] });
  const putChanged = (side, text) => {
    const blank = /\s*$/.exec(text)[0];
    if (text.length > blank.length) side.push([true, text.slice(0, text.length - blank.length)]);
    if (blank) side.push([false, blank]);
  };
  for (const [equal, fromA, toA, fromB, toB] of parts) {
    if (!equal) {
      open().changed = true;
      const texts = [a.slice(fromA, toA).join(""), b.slice(fromB, toB).join("")];
      putChanged(row.a, texts[0]);
      putChanged(row.b, texts[1]);
      words += Math.max(toA - fromA, toB - fromB);
      // Whole lines that only one of them has are a row of their own.
      if (texts.every((text) => /^$|\n\s*$/.test(text))) close();
      continue;
    }
    let start = 0;
    for (let i = 0; i < toA - fromA; i++) {
      const word = a[fromA + i];
      words++;
      const ends = word.includes("\n") || (words > 12 && /^[.!?。]\s/.test(word)) || words > 60;
      if (!ends && i < toA - fromA - 1) continue;
      open().a.push([false, a.slice(fromA + start, fromA + i + 1).join("")]);
      row.b.push([false, b.slice(fromB + start, fromB + i + 1).join("")]);
      start = i + 1;
      if (ends) close();
    }
  }
  close();
  return rows;
}
