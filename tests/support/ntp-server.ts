import { createSocket } from 'node:dgram'

/** Seconds from the epoch of NTP to that of Unix. */
const EPOCH = 2_208_988_800
const SERVER_V4 = 0x24
const STRATUM = 3
const PRECISION = 0xf6
const MILLISECOND = 66

/** Tells this machine's time to whoever asks at this address. Runs by itself: `node ntp-server.ts ADDRESS`. */
function serve(address: string): void {
  const socket = createSocket('udp4')
  socket.on('message', (question, from) => {
    const received = stamp()
    const answer = Buffer.alloc(48)
    answer.set([SERVER_V4, STRATUM, question[2] ?? 6, PRECISION])
    answer.writeUInt32BE(MILLISECOND, 4)
    answer.writeUInt32BE(MILLISECOND, 8)
    answer.write('TEST', 12, 'latin1')
    received.copy(answer, 16)
    question.copy(answer, 24, 40, 48)
    received.copy(answer, 32)
    stamp().copy(answer, 40)
    socket.send(answer, from.port, from.address)
  })
  socket.bind(123, address, () => process.stdout.write('serving\n'))
}

function stamp(): Buffer {
  const ms = Date.now()
  const bytes = Buffer.alloc(8)
  bytes.writeUInt32BE(Math.floor(ms / 1000) + EPOCH, 0)
  bytes.writeUInt32BE(Math.floor(((ms % 1000) / 1000) * 2 ** 32), 4)
  return bytes
}

const [address] = process.argv.slice(2)
if (address) serve(address)
