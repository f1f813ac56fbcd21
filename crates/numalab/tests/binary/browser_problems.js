// Returns what a person would see wrong with the page, one sentence each: text that is cut off by
// the window or by its picture, labels that overlap or are too small, text that is too faint (WCAG
// 2.1, 1.4.3), marks that are (1.4.11), and pictures of lengths that leave width unused.
const problems = [];
// What is folded is looked at, too.
const folded = [...document.querySelectorAll('details:not([open])')];
for (const part of folded) part.open = true;
const root = document.scrollingElement;
if (root.scrollWidth > root.clientWidth + 1) {
  problems.push(`the page is ${root.scrollWidth} px wide in a window of ${root.clientWidth}`);
}
const label = node => JSON.stringify(node.textContent.trim().slice(0, 40));
const isShown = node => {
  const box = node.getBoundingClientRect();
  return box.width > 0 && box.height > 0 && getComputedStyle(node).visibility === 'visible';
};

for (const picture of document.querySelectorAll('svg')) {
  const frame = picture.getBoundingClientRect();
  const texts = [...picture.querySelectorAll('text')].filter(isShown);
  const boxes = texts.map(text => text.getBoundingClientRect());
  texts.forEach((text, at) => {
    const box = boxes[at];
    if (box.left < frame.left - 1 || box.right > frame.right + 1 ||
        box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
      problems.push(`${label(text)} is cut off by its picture`);
    }
    for (let other = 0; other < at; other++) {
      const its = boxes[other];
      const wide = Math.min(box.right, its.right) - Math.max(box.left, its.left);
      const high = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
      // Boxes of lines are higher than their letters.
      if (wide > 1 && high > 0.35 * Math.min(box.height, its.height)) {
        problems.push(`${label(text)} overlaps ${label(texts[other])}`);
      }
    }
  });
}

for (const text of [...document.querySelectorAll('svg.picture text')].filter(isShown)) {
  const scale = Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b);
  const size = scale * parseFloat(getComputedStyle(text).fontSize);
  const least = innerWidth < 600 ? 11 : 12;
  if (size < least - 0.05) problems.push(`${label(text)} has ${size.toFixed(1)} of ${least} px`);
}
for (const picture of [...document.querySelectorAll('svg.picture.fluid')].filter(isShown)) {
  const { width } = picture.getBoundingClientRect();
  const room = picture.parentNode.getBoundingClientRect().width;
  if (width < room - 1 || width > 1100) problems.push(`a picture of ${width} px in ${room}`);
}

for (const cell of [...document.querySelectorAll('th, td')].filter(isShown)) {
  const beyond = cell.scrollWidth - cell.clientWidth;
  if (beyond > 1) problems.push(`${label(cell)} is ${beyond} px wider than its column`);
}
// The text of a node of a topology stays in its frame.
const frames = [...document.querySelectorAll('.sheet rect[rx]')].map(it =>
  it.getBoundingClientRect());
for (const text of [...document.querySelectorAll('.sheet text')].filter(isShown)) {
  const { left, right, top } = text.getBoundingClientRect();
  const around = frames.filter(it =>
    it.left <= left && left <= it.right && it.top <= top && top <= it.bottom);
  const least = Math.min(...around.map(it => it.right));
  if (right > least) problems.push(`${label(text)} is ${(right - least).toFixed()} px too wide`);
}

const numbers = colour => (colour.match(/[\d.]+/g) ?? []).map(Number);
const luminance = ([red, green, blue]) => {
  const linear = part => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
};
const contrast = (one, other) => {
  const [less, more] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (more + 0.05) / (less + 0.05);
};
const isSolid = colour => colour.length >= 3 && (colour[3] ?? 1) > 0.99;
// The colour that is drawn beneath the middle of a text: elements further up in the document were
// drawn before.
const beneath = node => {
  const box = node.getBoundingClientRect();
  const x = box.left + box.width / 2, y = box.top + box.height / 2;
  for (const under of document.elementsFromPoint(x, y)) {
    if (under === node || node.contains(under) || under.tagName === 'text') continue;
    const style = getComputedStyle(under);
    const isShape = under instanceof SVGElement && under.tagName !== 'svg';
    const colour = isShape ? style.fill : style.backgroundColor;
    if (isShape && (style.fill === 'none' || under.tagName === 'g')) continue;
    const isTinted = isShape && style.fillOpacity < 0.5;
    if (isSolid(numbers(colour)) && !isTinted) return numbers(colour);
  }
  return numbers(getComputedStyle(document.body).backgroundColor);
};
const words = [...document.querySelectorAll('h1,h2,h3,p,td,th,dt,dd,li,a,summary,figcaption,text')];
const faint = new Set();
for (const node of words.filter(isShown)) {
  // The rows of a table look alike, and so do the texts of a large matrix and a large topology.
  const alike = 'tr:nth-child(n+12) > *, ' +
    ':is(.pinned, .sheet) text:nth-of-type(n+100):not(:nth-of-type(5n))';
  if (node.matches(alike)) continue;
  const hasText = [...node.childNodes].some(it => it.nodeType === 3 && it.textContent.trim());
  if (!hasText) continue;
  node.scrollIntoView({block: 'center', inline: 'center'});
  const style = getComputedStyle(node);
  const ink = numbers(node.tagName === 'text' ? style.fill : style.color);
  const paper = beneath(node);
  const size = parseFloat(style.fontSize);
  const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
  const found = contrast(ink, paper);
  const pair = `${ink} on ${paper}`;
  if (found < least && !faint.has(pair)) {
    faint.add(pair);
    problems.push(`${label(node)} is too faint: ${found.toFixed(1)} of ${least}, ${pair}`);
  }
}
// Dots, bars, areas and lines that have a value. Cells of matrices hold it as text instead.
const paper = numbers(getComputedStyle(document.body).backgroundColor);
const drawn = (colour, opacity) => {
  const parts = numbers(colour);
  const share = (parts[3] ?? 1) * opacity;
  return paper.map((part, at) => part + (parts[at] - part) * share);
};
const seen = (colour, opacity) =>
  /^rgb/.test(colour) ? contrast(drawn(colour, Number(opacity)), paper) : 0;
for (const mark of document.querySelectorAll('svg.picture [data-value]:not(.heat)')) {
  const style = getComputedStyle(mark);
  if (style.fill.startsWith('url')) continue;
  const found = Math.max(seen(style.fill, style.fillOpacity), seen(style.stroke, style.strokeOpacity));
  const pair = `${style.fill}, ${style.stroke}`;
  if (found < 3 && !faint.has(pair)) {
    faint.add(pair);
    problems.push(`${mark.dataset.value} is drawn too faintly: ${found.toFixed(1)} of 3, ${pair}`);
  }
}
for (const part of folded) part.open = false;
scrollTo(0, 0);
return problems;
