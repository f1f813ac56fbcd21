// Returns which pictures have no table behind them, one sentence each: a table that follows the
// picture before another one, that keys reach, and all values that the picture shows of itself in
// the tables and lists of its part of the page.
const problems = [];
const pictures = [...document.querySelectorAll('main svg[role=img], main .sheet svg')];
const tables = [...document.querySelectorAll('main table')];
const isBefore = (one, other) =>
  Boolean(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);
const numbers = text => text.match(/\d[\d.,]*\d|\d/g) ?? [];
for (const picture of pictures) {
  const name = JSON.stringify(picture.getAttribute('aria-label'));
  // Pictures side by side have one table.
  const group = picture.closest('.sides') ?? picture;
  const next = pictures.find(it => isBefore(picture, it) && !group.contains(it));
  const table = tables.find(it => isBefore(group, it));
  if (!table || (next && isBefore(next, table))) {
    problems.push(`no table follows ${name}`);
    continue;
  }
  if (!table.closest('[tabindex="0"]')) problems.push(`keys do not reach the table of ${name}`);
  const cells = picture.closest('article, main').querySelectorAll('td, th, li, figcaption');
  const known = new Set([...cells].flatMap(cell => numbers(cell.textContent)));
  const values = [...picture.querySelectorAll('[data-value]')].map(it => it.dataset.value);
  const missing = values.filter(value => numbers(value).some(it => !known.has(it)));
  if (missing.length) {
    problems.push(`${name} shows what no table has, ${missing.length} of ${values.length}: ${
      missing.slice(0, 2).join('; ')}`);
  }
}
return { pictures: pictures.length, problems };
