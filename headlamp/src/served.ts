// Which version of each kind of resource.k8s.io the cluster serves, and the classes of these kinds. Headlamp can try
// several versions by itself, but does so by reading the whole list in each of them.

import { ApiProxy, K8s } from '@kinvolk/headlamp-plugin/lib';
import { useEffect, useState } from 'react';

const GROUP = 'resource.k8s.io';
// The first that is served counts.
const VERSIONS = ['v1', 'v1beta2', 'v1beta1', 'v1alpha3'];
const KINDS: Record<string, { kind: string; isNamespaced: boolean }> = {
  resourceslices: { kind: 'ResourceSlice', isNamespaced: false },
  resourceclaims: { kind: 'ResourceClaim', isNamespaced: true },
  deviceclasses: { kind: 'DeviceClass', isNamespaced: false },
  devicetaintrules: { kind: 'DeviceTaintRule', isNamespaced: false },
};

export type ObjectClass = typeof K8s.cluster.KubeObject<any>;

// By the kind's plural.
export interface Served {
  classes: Record<string, ObjectClass>;
  // Why there is nothing to show; empty if there is.
  problem: string;
}

const made = new Map<string, ObjectClass>();

// One class for a kind and version: Headlamp keeps lists by class.
export function classOf(plural: string, version: string): ObjectClass {
  const key = `${version}/${plural}`;
  const known = made.get(key);
  if (known) return known;
  const { kind, isNamespaced } = KINDS[plural];
  const OfKind = class extends K8s.cluster.KubeObject<any> {
    static kind = kind;
    static apiName = plural;
    static apiVersion = `${GROUP}/${version}`;
    static isNamespaced = isNamespaced;
    static get detailsRoute() {
      return kind;
    }
  } as unknown as ObjectClass;
  made.set(key, OfKind);
  return OfKind;
}

async function ask(path: string, cluster: string) {
  return ApiProxy.clusterRequest(path, { cluster, autoLogoutOnAuthError: false });
}

export async function servedBy(cluster: string): Promise<Served> {
  const classes: Record<string, ObjectClass> = {};
  try {
    const group = await ask(`/apis/${GROUP}`, cluster);
    const versions = (group?.versions ?? []).map((one: { version: string }) => one.version);
    for (const version of VERSIONS) {
      if (!versions.includes(version)) continue;
      const list = await ask(`/apis/${GROUP}/${version}`, cluster);
      const names = (list?.resources ?? []).map((one: { name: string }) => one.name);
      for (const plural of Object.keys(KINDS))
        if (!classes[plural] && names.includes(plural)) classes[plural] = classOf(plural, version);
      if (Object.keys(classes).length === Object.keys(KINDS).length) break;
    }
  } catch (error: any) {
    const problem =
      error?.status === 404
        ? 'This cluster does not serve resource.k8s.io, so it has no devices of Dynamic Resource Allocation.'
        : `What the cluster serves of resource.k8s.io cannot be read: ${error?.message ?? error}`;
    return { classes: {}, problem };
  }
  if (classes.resourceslices && classes.resourceclaims) return { classes, problem: '' };
  return {
    classes: {},
    problem: 'This cluster serves no version of resource.k8s.io that is known here.',
  };
}

// null: not known yet.
export function useServed(cluster: string): Served | null {
  const [served, setServed] = useState<{ cluster: string; value: Served } | null>(null);
  useEffect(() => {
    let wanted = true;
    servedBy(cluster).then(value => wanted && setServed({ cluster, value }));
    return () => {
      wanted = false;
    };
  }, [cluster]);
  return served?.cluster === cluster ? served.value : null;
}
