// Answers of verbs, as -o json prints them, as part of the page: sentences, remedies, tables.

import { make, sentence, shown } from './dom.js';

const NOT_ROWS = new Set(['statements', 'lines', 'notes', 'after']);

function tableOf(name, rows) {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((key) => rows.some((row) => row[key] !== '' && !(Array.isArray(row[key]) && row[key].length === 0)));
  const cell = (value) => make('td', {}, sentence(Array.isArray(value) ? value.slice(0, 20).join(', ') + (value.length > 20 ? ` and ${value.length - 20} more` : '') : typeof value === 'object' && value ? JSON.stringify(value) : value ?? ''));
  return make('div', { class: 'scrolls', tabindex: 0, role: 'region', 'aria-label': name },
    make('table', {}, make('thead', {}, make('tr', {}, columns.map((key) => make('th', { scope: 'col' }, key)))), make('tbody', {}, rows.slice(0, 200).map((row) => make('tr', {}, columns.map((key) => cell(row[key])))))),
    rows.length > 200 ? make('p', {}, `and ${rows.length - 200} more`) : null);
}

export function answerParts(answer) {
  const parts = [], said = new Set();
  for (const statement of answer.statements ?? []) {
    said.add(statement.message);
    parts.push(make('p', { class: 'sentence' }, sentence(statement.message)));
    const remedies = statement.remedies ?? [];
    if (remedies.length) parts.push(make('ul', { class: 'remedies' }, remedies.map((one) => make('li', {}, sentence(one.text)))));
    for (const one of remedies) said.add(one.text);
  }
  for (const line of answer.lines ?? []) if (line && !said.has(line) && parts.length === 0) parts.push(make('p', {}, sentence(line)));
  for (const [name, rows] of Object.entries(answer))
    if (!NOT_ROWS.has(name) && Array.isArray(rows) && rows.length && rows.every((row) => row && typeof row === 'object')) parts.push(tableOf(name, rows));
  for (const note of answer.notes ?? []) parts.push(make('p', { class: 'note' }, sentence(note)));
  if (parts.length === 0) parts.push(make('p', {}, shown(answer.answer ?? 'no answer')));
  return parts;
}

// A place that fills with an answer when it comes.
export function answerPlace(promise, waitingFor) {
  const place = make('div', { class: 'answer', 'aria-live': 'polite' }, make('p', { class: 'note' }, waitingFor));
  promise.then((answer) => place.replaceChildren(...answerParts(answer)), (error) => place.replaceChildren(make('p', { class: 'problem' }, sentence(error.message))));
  return place;
}
