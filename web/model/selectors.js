// Node selectors, as k8s.io/component-helpers reads them (pkg/api/selectors.h).

const INTEGER = /^-?\d{1,18}$/;
const LABEL_VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

function requirementHolds(requirement, value) {
  const values = requirement.values ?? [];
  switch (requirement.operator) {
    case 'In': return value !== undefined && values.includes(value);
    case 'NotIn': return value === undefined || !values.includes(value);
    case 'Exists': return value !== undefined;
    case 'DoesNotExist': return value === undefined;
    case 'Gt':
    case 'Lt': {
      if (value === undefined || values.length !== 1 || !INTEGER.test(value) || !INTEGER.test(values[0])) return false;
      return requirement.operator === 'Gt' ? BigInt(value) > BigInt(values[0]) : BigInt(value) < BigInt(values[0]);
    }
    default: return false;
  }
}

function isWellFormed(requirement) {
  const values = requirement.values ?? [];
  if (!values.every((value) => value === '' || LABEL_VALUE.test(value))) return false;
  if (requirement.operator === 'In' || requirement.operator === 'NotIn') return values.length > 0;
  return requirement.operator === 'Gt' || requirement.operator === 'Lt' || values.length === 0;
}

function fieldHolds(field, nodeName) {
  const values = field.values ?? [], value = field.key === 'metadata.name' ? nodeName : '';
  if (values.length !== 1 || (field.operator !== 'In' && field.operator !== 'NotIn')) return false;
  return (field.operator === 'In') === (values[0] === value);
}

function termHolds(term, nodeName, labels) {
  const expressions = term.matchExpressions ?? [], fields = term.matchFields ?? [];
  if (expressions.length === 0 && fields.length === 0) return false;
  const value = (key) => Object.hasOwn(labels, key) ? labels[key] : undefined;
  return expressions.every((one) => isWellFormed(one) && requirementHolds(one, value(one.key))) &&
    fields.every((one) => fieldHolds(one, nodeName));
}

export function selectorMatches(selector, nodeName, labels) {
  return (selector?.nodeSelectorTerms ?? []).some((term) => termHolds(term, nodeName, labels));
}

// The node of a selector that names exactly one, by its name; "": another selector.
export function onlyNode(selector) {
  const terms = selector?.nodeSelectorTerms ?? [];
  const field = terms.length === 1 ? (terms[0].matchFields ?? []).find((one) => one.key === 'metadata.name' && one.operator === 'In') : undefined;
  return field?.values?.length === 1 ? field.values[0] : '';
}
