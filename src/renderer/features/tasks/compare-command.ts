const FILE_OF: [RegExp, string][] = [
  [/ed25519/, 'ed25519'],
  [/ecdsa/, 'ecdsa'],
  [/rsa/, 'rsa'],
]

/** How to read the same fingerprint on the host itself. */
export function compareCommand(keyType: string): string {
  const name = FILE_OF.find(([pattern]) => pattern.test(keyType.toLowerCase()))?.[1] ?? 'ed25519'
  return `ssh-keygen -lf /etc/ssh/ssh_host_${name}_key.pub`
}
