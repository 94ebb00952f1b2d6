// An HTTP/2 server over TLS for the tests of the network transport; run by them where node is installed. Prints its port.
// GET /count answers the number of sessions; /watch streams lines; anything else is echoed.
const http2 = require('http2');
let sessions = 0;
const server = http2.createSecureServer(
    {cert: process.env.TEST_CERT, key: process.env.TEST_KEY, settings: {maxConcurrentStreams: 250}});
server.on('session', () => sessions++);
server.on('stream', (stream, headers) => {
  const path = headers[':path'];
  stream.on('error', () => {});
  if (path === '/watch') {
    stream.respond({':status': 200, 'content-type': 'application/json'});
    let n = 0;
    const timer = setInterval(() => {
      stream.write('line ' + n++ + '\n');
      if (n === 5) {
        clearInterval(timer);
        stream.end();
      }
    }, 2);
    stream.on('close', () => clearInterval(timer));
    return;
  }
  let body = '';
  stream.on('data', (chunk) => body += chunk);
  stream.on('end', () => {
    stream.respond({':status': 200});
    stream.end(path === '/count' ? String(sessions) : headers[':method'] + path + body);
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
