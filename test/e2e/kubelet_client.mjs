// What a kubelet asks a DRA driver on its node, by gRPC over the driver's sockets: who it is, and to prepare and unprepare a claim. Node has HTTP/2 built
// in; the messages are a few strings, so they are written and read here (api.proto of k8s.io/kubelet, pkg/apis/dra/v1 and pkg/apis/pluginregistration/v1).
//
//   node kubelet_client.mjs info SOCKET                                registers the driver: {name, endpoint, versions}
//   node kubelet_client.mjs prepare|unprepare SOCKET NAMESPACE UID NAME  {error, devices: [{requests, pool, device, cdi, share}]}
//
// Prints JSON; exit status 1 with the driver's words if the call itself fails.
import { connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';

const DRA = '/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/', REGISTRATION = '/pluginregistration.Registration/';
const LIMIT = 30000;  // ms

// ---- messages: fields of strings, of messages, and one truth value

function varint(value) {
  const bytes = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest & 127) | 128);
  }
}

function field(number, value) {
  if (value === true) return Buffer.from([number << 3, 1]);
  const bytes = Buffer.from(value);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

// {number: [bytes or number, ...]}
function fieldsOf(bytes) {
  const found = {};
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 28) throw new Error('the answer is not a message');
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = number(), kind = key & 7;
    if (kind !== 0 && kind !== 2) throw new Error(`the answer has a field of wire type ${kind}`);
    let value = number();
    if (kind === 2) {
      if (at + value > bytes.length) throw new Error('the answer is cut off');
      value = bytes.subarray(at, at += value);
    }
    (found[key >> 3] ??= []).push(value);
  }
  return found;
}

const text = (fields, number) => String(fields[number]?.[0] ?? '');
const texts = (fields, number) => (fields[number] ?? []).map(String);

// ---- one call

function call(socket, path, message) {
  return new Promise((resolve, reject) => {
    const session = connect('http://localhost', { createConnection: () => connectSocket(socket) });
    const fail = (error) => {
      session.destroy();
      reject(error instanceof Error ? error : new Error(error));
    };
    session.on('error', fail);
    const timer = setTimeout(() => fail(`${path}: no answer within ${LIMIT / 1000} s`), LIMIT);
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' });
    const pieces = [];
    let status, words = '';
    const hear = (headers) => {
      status = headers['grpc-status'] ?? status;
      words = headers['grpc-message'] ?? words;
    };
    stream.on('response', hear);
    stream.on('trailers', hear);
    stream.on('data', (piece) => pieces.push(piece));
    stream.on('error', fail);
    stream.on('end', () => {
      clearTimeout(timer);
      session.close();
      const answer = Buffer.concat(pieces);
      if (String(status) !== '0') return fail(`${path}: status ${status}: ${decodeURIComponent(words)}`);
      if (answer.length < 5 || answer[0] !== 0 || answer.readUInt32BE(1) !== answer.length - 5) return fail(`${path}: the answer is not one message`);
      return resolve(fieldsOf(answer.subarray(5)));
    });
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    stream.end(Buffer.concat([head, message]));
  });
}

async function info(socket) {
  const found = await call(socket, REGISTRATION + 'GetInfo', Buffer.alloc(0));
  await call(socket, REGISTRATION + 'NotifyRegistrationStatus', field(1, true));
  return { type: text(found, 1), name: text(found, 2), endpoint: text(found, 3), versions: texts(found, 4) };
}

async function ofClaim(verb, socket, [namespace, uid, name]) {
  const answer = await call(socket, DRA + verb, field(1, Buffer.concat([field(1, namespace), field(2, uid), field(3, name)])));
  const entries = (answer[1] ?? []).map(fieldsOf), entry = entries.find((one) => text(one, 1) === uid);
  if (entries.length !== 1 || !entry) throw new Error(`${verb} answers about ${entries.map((one) => text(one, 1)).join(', ') || 'no claim'}, not about ${uid}`);
  const said = fieldsOf(entry[2]?.[0] ?? Buffer.alloc(0));
  if (verb === 'NodeUnprepareResources') return { error: text(said, 1) };
  const devices = (said[1] ?? []).map(fieldsOf).map((one) => ({ requests: texts(one, 1), pool: text(one, 2), device: text(one, 3), cdi: texts(one, 4), share: text(one, 5) }));
  return { error: text(said, 2), devices };
}

const [what, socket, ...words] = process.argv.slice(2);
try {
  const answer = what === 'info' ? await info(socket) : await ofClaim({ prepare: 'NodePrepareResources', unprepare: 'NodeUnprepareResources' }[what], socket, words);
  console.log(JSON.stringify(answer));
} catch (error) {
  console.error(String(error.message ?? error));
  process.exitCode = 1;
}
