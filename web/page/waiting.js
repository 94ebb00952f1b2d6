// What waits, by cause: the sentences of kubectl dra explain, and what would help; pods of one group together.

import { make, named, sentence, commandLine } from './dom.js';
import { answerPlace } from './answers.js';
import { waitingPods, groupOfPod, keyOf } from '../model/model.js';
import { ageText } from './details.js';

const MAX_NAMES = 100;

// Waiting pods by their group; those of no group under ''.
export function waitingGroups(world) {
  const groups = new Map();
  for (const pod of waitingPods(world)) {
    const name = groupOfPod(pod), key = name ? `${pod.metadata.namespace}/${name}` : '';
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(pod);
  }
  return groups;
}

function causeItem(cause, page) {
  const names = [...(cause.podNames ?? []).map((key) => ['pod', key]), ...(cause.claimNames ?? []).map((key) => ['claim', key])];
  const first = names[0], place = make('div', {});
  const [ns, name] = first ? first[1].split('/') : ['', ''];
  const explain = first ? make('button', { type: 'button', onclick: () => place.replaceChildren(answerPlace(page.ask('explain', [`${first[0]}/${name}`], ns), 'Asking\u2026')) }, 'What would help') : null;
  return make('li', { class: 'cause' }, make('h3', {}, `${names.length} ${names.length === 1 ? 'waits' : 'wait'}: `, named(cause.cause)), make('p', { class: 'sentence' }, sentence(cause.why)),
    make('p', {}, names.slice(0, MAX_NAMES).map(([kind, key]) => [make('button', { type: 'button', class: 'link', onclick: () => page.open({ kind, key }) }, named(key)), ' ']), names.length > MAX_NAMES ? `and ${names.length - MAX_NAMES} more` : null),
    explain, place, first ? commandLine('kubectl', 'dra', 'explain', `${first[0]}/${name}`, '-n', ns) : null);
}

export function waitingView(page) {
  const causes = make('ul', { class: 'causes', 'aria-live': 'polite' }, make('li', { class: 'note' }, 'Asking why\u2026'));
  page.ask('explain', [], '').then((answer) => {
    const rows = answer.causes ?? [];
    causes.replaceChildren(...(rows.length ? rows.map((cause) => causeItem(cause, page)) : [make('li', {}, answer.statements?.[0]?.message ?? 'Nothing waits for devices.')]));
  }, (error) => causes.replaceChildren(make('li', { class: 'problem' }, error.message)));
  const groups = [...waitingGroups(page.world)].filter(([key]) => key !== '');
  return [
    make('h2', {}, 'Waiting for devices'), page.world.hides('pods') ? make('p', { class: 'note' }, 'Pods that you may not list are not among these.') : null,
    groups.length ? make('section', {}, make('h3', {}, 'Groups'), make('ul', { class: 'groups' }, groups.slice(0, 200).map(([key, pods]) => make('li', {}, named(key), `: ${pods.length} ${pods.length === 1 ? 'pod waits' : 'pods wait'} for ${ageText(pods[0].metadata.creationTimestamp, page.now())}: `,
      pods.slice(0, 20).map((pod) => [make('button', { type: 'button', class: 'link', onclick: () => page.open({ kind: 'pod', key: keyOf(pod) }) }, named(pod.metadata.name)), ' ']))))) : null,
    causes, commandLine('kubectl', 'dra', 'explain'),
  ];
}

// Questions about changes; nothing is written. The answers are those of kubectl dra whatif and fits.
export function whatIfView(page) {
  if (!page.canAsk) return [make('h2', {}, 'What if'), make('p', {}, 'A report answers no questions; kubectl dra web does.')];
  const place = make('div', {}), kind = make('select', { id: 'change' }, ['drain', 'cordon', 'delete', 'scale', 'taint', 'add-node'].map((one) => make('option', { value: one }, one)));
  const words = make('input', { id: 'object', type: 'text', placeholder: 'node-a', autocomplete: 'off', spellcheck: 'false', maxlength: 500 });
  const ns = make('input', { id: 'namespace', type: 'text', placeholder: 'default', autocomplete: 'off', spellcheck: 'false', maxlength: 63 });
  const examples = { drain: 'node-a', cordon: 'node-a', delete: 'pod/train-0', scale: 'deployment/web 8', taint: 'node-a/gpu-3 example.com/broken=ecc:NoExecute', 'add-node': 'like node-a 2' };
  kind.addEventListener('change', () => words.setAttribute('placeholder', examples[kind.value]));
  const askChange = (event) => {
    event.preventDefault();
    place.replaceChildren(answerPlace(page.ask('whatif', [kind.value, ...words.value.trim().split(/\s+/).filter(Boolean)], ns.value.trim()), 'Asking\u2026'));
  };
  const text = make('textarea', { id: 'manifest', rows: 10, spellcheck: 'false', placeholder: 'The YAML of a pod, a claim, a job \u2026' });
  const fits = make('div', {});
  const askFits = (event) => {
    event.preventDefault();
    fits.replaceChildren(answerPlace(page.ask('fits', [], ns.value.trim(), text.value), 'Asking\u2026'));
  };
  const label = (id, title) => make('label', { for: id }, title);
  return [
    make('h2', {}, 'What if'), make('p', { class: 'note' }, 'Nothing is written to the cluster.'),
    make('form', { class: 'ask', onsubmit: askChange }, label('change', 'Change'), kind, label('object', 'Object'), words, label('namespace', 'Namespace'), ns, make('button', { type: 'submit' }, 'Ask')), place,
    make('h2', {}, 'Does this fit'), make('form', { class: 'ask', onsubmit: askFits }, label('manifest', 'YAML'), text, make('button', { type: 'submit' }, 'Ask')), fits,
  ];
}
