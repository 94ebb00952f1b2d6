// HTTP/2 by hand, for a test of the network transport: node's own server never ends a stream with a frame that carries
// data, as Go's does. Prints its port. Each request is answered with a little more than 16 or 48 KiB, in frames of 4 KiB,
// the last of which ends the stream. Over HTTP/1.1 a request is a watch: it stays open, and gets a line of 1, 2, 4 ... 64
// KiB every 50 ms after the fourth one was opened.
const tls = require('tls');
const frame = (type, flags, stream, body) => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
};
const DATA = 0, HEADERS = 1, SETTINGS = 4, PING = 6;
const kOk = Buffer.from([0x88]);  // ":status: 200" of the static table
let answers = 0;
const watches = [];

function watch(socket) {
  socket.on('data', () => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n');
    watches.push(socket);
    if (watches.length < 4) return;
    let size = 512;
    const timer = setInterval(() => {
      size *= 2;
      for (const one of watches) one.write('x'.repeat(size) + '\n');
      if (size === 65536) clearInterval(timer);
    }, 50);
  });
}

function answer(socket, stream) {
  socket.write(frame(HEADERS, 4, stream, kOk));
  const body = Buffer.alloc((answers % 2 ? 49152 : 16384) + 50 * (answers++ % 64), 'x');
  for (let at = 0; at < body.length; at += 4096)
    socket.write(frame(DATA, at + 4096 >= body.length ? 1 : 0, stream, body.subarray(at, at + 4096)));
}

const options = {cert: process.env.TEST_CERT, key: process.env.TEST_KEY, ALPNProtocols: ['h2', 'http/1.1']};
const server = tls.createServer(options, (socket) => {
  if (socket.alpnProtocol === 'http/1.1') return watch(socket.on('error', () => {}));
  let seen = Buffer.alloc(0);
  let greeted = false;
  socket.on('error', () => {});
  socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)));
  socket.on('data', (chunk) => {
    seen = Buffer.concat([seen, chunk]);
    if (!greeted && seen.length >= 24) {
      seen = seen.subarray(24);  // the client's preface
      greeted = true;
    }
    while (greeted && seen.length >= 9 && seen.length >= 9 + seen.readUIntBE(0, 3)) {
      const length = seen.readUIntBE(0, 3), type = seen[3], flags = seen[4], stream = seen.readUInt32BE(5);
      if (type === SETTINGS && !(flags & 1)) socket.write(frame(SETTINGS, 1, 0, Buffer.alloc(0)));
      if (type === PING && !(flags & 1)) socket.write(frame(PING, 1, 0, seen.subarray(9, 9 + length)));
      if (type === HEADERS) answer(socket, stream);
      seen = seen.subarray(9 + length);
    }
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
