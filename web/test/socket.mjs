// A WebSocket client for one peer on this machine: node 20 has none that may be used without a flag.

import { request } from 'node:http';
import { randomBytes } from 'node:crypto';

// Calls `heard` with each text message; resolves to {send(text), close()}.
export function connectSocket(address, heard) {
  const { hostname, port, pathname } = new URL(address);
  return new Promise((resolve, reject) => {
    const upgrade = request({ host: hostname, port, path: pathname, headers: { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Key': randomBytes(16).toString('base64'), 'Sec-WebSocket-Version': '13' } });
    upgrade.on('error', reject);
    upgrade.on('upgrade', (_answer, socket) => {
      let rest = Buffer.alloc(0), parts = [];
      socket.on('data', (data) => {
        rest = Buffer.concat([rest, data]);
        for (let frame = nextFrame(rest); frame; frame = nextFrame(rest)) {
          rest = rest.subarray(frame.size);
          if (frame.opcode > 2) continue;
          parts.push(frame.payload);
          if (!frame.final) continue;
          const text = Buffer.concat(parts).toString('utf8');
          parts = [];
          heard(text);
        }
      });
      socket.on('error', () => {});
      resolve({ send: (text) => socket.write(frameOf(Buffer.from(text))), close: () => socket.destroy() });
    });
    upgrade.end();
  });
}

function nextFrame(bytes) {
  if (bytes.length < 2) return null;
  let length = bytes[1] & 127, at = 2;
  if (length === 126) {
    if (bytes.length < 4) return null;
    length = bytes.readUInt16BE(2);
    at = 4;
  } else if (length === 127) {
    if (bytes.length < 10) return null;
    length = Number(bytes.readBigUInt64BE(2));
    at = 10;
  }
  if (bytes.length < at + length) return null;
  return { final: (bytes[0] & 128) !== 0, opcode: bytes[0] & 15, payload: bytes.subarray(at, at + length), size: at + length };
}

function frameOf(payload) {
  const head = payload.length < 126 ? Buffer.from([0x81, 0x80 | payload.length]) : Buffer.alloc(payload.length < 65536 ? 4 : 10);
  if (payload.length >= 126) {
    head[0] = 0x81;
    head[1] = 0x80 | (payload.length < 65536 ? 126 : 127);
    if (payload.length < 65536) head.writeUInt16BE(payload.length, 2);
    else head.writeBigUInt64BE(BigInt(payload.length), 2);
  }
  const mask = randomBytes(4), masked = Buffer.from(payload);
  for (let at = 0; at < masked.length; ++at) masked[at] ^= mask[at & 3];
  return Buffer.concat([head, mask, masked]);
}
