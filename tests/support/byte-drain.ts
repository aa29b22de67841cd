import { connect } from 'node:net'

/** Reads all that comes on the loopback port of its first argument; tells its parent how much, and in which time. */
const socket = connect(Number(process.argv[2]), '127.0.0.1')
let bytes = 0
let begun = 0
socket.on('data', (part) => {
  begun ||= performance.now()
  bytes += part.length
})
socket.on('end', () => process.send?.({ bytes, ms: performance.now() - begun }))
