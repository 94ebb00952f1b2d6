// An HTTP/2 server over TLS for the tests of the network transport; run by them where node is installed. Prints its port.
// GET /count answers the number of HTTP/2 sessions and of HTTP/1.1 requests; anything else is echoed. Over HTTP/1.1 every
// request is a watch: a stream of lines.
const http2 = require('http2');
let sessions = 0, watches = 0;
const server = http2.createSecureServer(
    {cert: process.env.TEST_CERT, key: process.env.TEST_KEY, allowHTTP1: true, settings: {maxConcurrentStreams: 250}});
server.on('session', () => sessions++);
server.on('request', (request, response) => {
  if (request.httpVersionMajor !== 1) return;
  watches++;
  response.writeHead(200, {'content-type': 'application/json'});
  let n = 0;
  const timer = setInterval(() => {
    response.write('line ' + n++ + '\n');
    if (n === 5) {
      clearInterval(timer);
      response.end();
    }
  }, 2);
});
server.on('stream', (stream, headers) => {
  const path = headers[':path'];
  stream.on('error', () => {});
  let body = '';
  stream.on('data', (chunk) => body += chunk);
  stream.on('end', () => {
    stream.respond({':status': 200});
    stream.end(path === '/count' ? sessions + ' ' + watches : headers[':method'] + path + body);
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
