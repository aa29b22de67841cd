const PREFIX = new TextEncoder().encode('eitri-agent-hello-v1\0')

/** The bytes Hello.signature covers: what both ends build on their own, so that neither trusts the other's copy. */
export function helloMessage(nonce: Uint8Array, hostId: string, protocolVersion: number): Uint8Array<ArrayBuffer> {
  const id = new TextEncoder().encode(hostId)
  const out = new Uint8Array(PREFIX.length + nonce.length + id.length + 4)
  out.set(PREFIX)
  out.set(nonce, PREFIX.length)
  out.set(id, PREFIX.length + nonce.length)
  new DataView(out.buffer).setUint32(out.length - 4, protocolVersion)
  return out
}
