// Returns what a person would see wrong with the page, one sentence each: text that is cut off by
// the window or by its picture, labels that overlap, and text that is too faint (WCAG 2.1, 1.4.3).
const problems = [];
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
scrollTo(0, 0);
return problems;
