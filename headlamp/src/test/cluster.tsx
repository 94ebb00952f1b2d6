// A cluster behind Headlamp's own library: its requests and its watches, and the providers that Headlamp puts around
// pages. For tests alone.

import {
  darkTheme,
  lightTheme,
} from '@kinvolk/headlamp-plugin/lib/components/App/defaultAppThemes';
import { createMuiTheme } from '@kinvolk/headlamp-plugin/lib/lib/themes';
import store from '@kinvolk/headlamp-plugin/lib/redux/stores/store';
import { ThemeProvider } from '@mui/material';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render } from '@testing-library/react';
import { SnackbarProvider } from 'notistack';
import { ReactNode } from 'react';
import { Provider } from 'react-redux';
import { MemoryRouter, Route } from 'react-router-dom';

const GROUP = 'resource.k8s.io';
const OF_GROUP = ['resourceslices', 'resourceclaims', 'deviceclasses', 'devicetaintrules'];

export class FakeCluster {
  objects: Record<string, any[]>;
  forbidden = new Set<string>();
  versions: Record<string, string[]> = { v1: OF_GROUP.slice(0, 3), v1beta2: OF_GROUP };
  requests: string[] = [];
  elsewhere: string[] = [];
  sockets: any[] = [];
  revision = 100;

  constructor(objects: Record<string, any[]>) {
    this.objects = objects;
    for (const list of Object.values(objects)) for (const one of list) this.stamp(one);
  }
  stamp(one: any) {
    one.metadata.resourceVersion = String(++this.revision);
    one.metadata.uid ??= `uid-${one.metadata.namespace ?? ''}-${one.metadata.name}`;
  }
  install() {
    globalThis.fetch = (async (url: any, init: any) =>
      this.answer(String(url?.url ?? url), init)) as any;
    // Where Headlamp keeps kubeconfigs that a user has loaded: there are none.
    const later = (request: any, result: any) => {
      setTimeout(() => request.onsuccess?.({ target: { result } }), 0);
      return request;
    };
    const store = { openCursor: () => later({}, null) };
    const database = { transaction: () => ({ objectStore: () => store }) };
    (globalThis as any).indexedDB = { open: () => later({}, database) };
    // eslint-disable-next-line @typescript-eslint/no-this-alias
    const cluster = this;
    globalThis.WebSocket = class {
      static OPEN = 1;
      readyState = 1;
      listeners: Record<string, any[]> = {};
      constructor(public url: string) {
        cluster.sockets.push(this);
        setTimeout(() => this.say('open', {}), 0);
      }
      addEventListener(type: string, listener: any) {
        (this.listeners[type] ??= []).push(listener);
      }
      removeEventListener() {}
      say(type: string, event: any) {
        for (const one of this.listeners[type] ?? []) one(event);
        (this as any)['on' + type]?.(event);
      }
      send() {}
      close() {}
    } as any;
  }
  json(status: number, body: any) {
    return new Response(JSON.stringify(body), {
      status,
      headers: { 'Content-Type': 'application/json' },
    });
  }
  answer(text: string, init: any) {
    const url = new URL(text, 'http://localhost');
    if (url.hostname !== 'localhost' && url.hostname !== '127.0.0.1') this.elsewhere.push(text);
    const path = url.pathname.replace(/^.*\/clusters\/main/, '');
    this.requests.push(`${init?.method ?? 'GET'} ${path}${url.search}`);
    const parts = path.split('/').filter(Boolean);
    if (path === `/apis/${GROUP}`) {
      if (!Object.keys(this.versions).length)
        return this.json(404, { message: 'the server could not find the requested resource' });
      return this.json(200, { versions: Object.keys(this.versions).map(version => ({ version })) });
    }
    if (parts[0] === 'apis' && parts[1] === GROUP && parts.length === 3)
      return this.json(200, { resources: (this.versions[parts[2]] ?? []).map(name => ({ name })) });
    const at = parts.indexOf('namespaces');
    const rest = at >= 0 ? parts.slice(at + 2) : parts.slice(parts[0] === 'api' ? 2 : 3);
    const [plural, name] = rest.map(decodeURIComponent);
    if (this.forbidden.has(plural)) return this.json(403, { message: `${plural} is forbidden` });
    if (!this.objects[plural]) return this.json(404, { message: `no ${plural}` });
    let items = this.objects[plural];
    if (at >= 0)
      items = items.filter(one => one.metadata.namespace === decodeURIComponent(parts[at + 1]));
    const field = /involvedObject\.name=([^,]*)/.exec(url.searchParams.get('fieldSelector') ?? '');
    if (field) items = items.filter(one => one.involvedObject?.name === field[1]);
    if (name) {
      const found = items.find(one => one.metadata.name === name);
      return found
        ? this.json(200, { kind: 'ResourceClaim', ...found })
        : this.json(404, { message: 'not found' });
    }
    return this.json(200, {
      kind: 'List',
      apiVersion: 'v1',
      metadata: { resourceVersion: String(this.revision) },
      items,
    });
  }
  // A change, as a watch has it.
  tell(plural: string, type: string, object: any) {
    this.stamp(object);
    for (const socket of this.sockets)
      if (new URL(socket.url).pathname.endsWith('/' + plural))
        socket.say('message', { data: JSON.stringify({ type, object }) });
  }
  lists(plural: string) {
    return this.requests.filter(one => new RegExp(`/${plural}(\\?|$)`).test(one)).length;
  }
}

export function show(
  what: ReactNode,
  { path = '/c/main/dra/fleet', route = '*', dark = false } = {}
) {
  window.history.pushState({}, '', path);
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  return render(
    <Provider store={store}>
      <QueryClientProvider client={client}>
        <ThemeProvider theme={createMuiTheme(dark ? darkTheme : lightTheme)}>
          <SnackbarProvider>
            <MemoryRouter initialEntries={[path]}>
              <Route path={route}>{what}</Route>
            </MemoryRouter>
          </SnackbarProvider>
        </ThemeProvider>
      </QueryClientProvider>
    </Provider>
  );
}
