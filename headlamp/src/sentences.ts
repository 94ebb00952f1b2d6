// Why a pod waits, in the words of those who decide: conditions of the pod, else its events. Nothing is worked out here.

import { ApiProxy } from '@kinvolk/headlamp-plugin/lib';

export interface Sentence {
  text: string;
  from: string; // 'condition dra-controller-manager/Allocated', 'event FailedAllocation'
  since: string;
}

// In this order: ours quotes more than the scheduler's.
const CONDITIONS = ['dra-controller-manager/Allocated', 'PodScheduled'];
const MAX_EVENTS = 100;

export function sentenceOfConditions(pod: any): Sentence | null {
  for (const type of CONDITIONS) {
    const found = (pod?.status?.conditions ?? []).find(
      (one: any) => one?.type === type && one.status === 'False' && one.message
    );
    if (found)
      return {
        text: found.message,
        from: `condition ${type}`,
        since: found.lastTransitionTime ?? '',
      };
  }
  return null;
}

export function timeOfEvent(event: any): string {
  return (
    event?.series?.lastObservedTime ??
    event?.lastTimestamp ??
    event?.eventTime ??
    event?.firstTimestamp ??
    ''
  );
}

// The newest warning; newest first for equal times as the server lists them.
export function sentenceOfEvents(events: any[]): Sentence | null {
  let newest: any = null;
  for (const event of events) {
    if (event?.type !== 'Warning' || !event.message) continue;
    if (!newest || timeOfEvent(event) > timeOfEvent(newest)) newest = event;
  }
  return (
    newest && {
      text: newest.message,
      from: `event ${newest.reason ?? ''}`,
      since: timeOfEvent(newest),
    }
  );
}

export async function eventsOf(
  cluster: string,
  kind: string,
  namespace: string,
  name: string,
  uid: string
): Promise<any[]> {
  const selector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
  const query = `limit=${MAX_EVENTS}&fieldSelector=${encodeURIComponent(selector)}`;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events?${query}`;
  const list = await ApiProxy.clusterRequest(path, { cluster, autoLogoutOnAuthError: false });
  // An object of the same name that is gone had events, too.
  return (list?.items ?? []).filter((one: any) => !uid || one?.involvedObject?.uid === uid);
}

// In place of a sentence: why the events are not known.
export function unreadEvents(error: any): string {
  return error?.status === 403
    ? 'not visible: you may not list its events'
    : `its events cannot be read: ${error?.message ?? error}`;
}
