import { z } from 'zod'

const base64 = z.string().max(256 * 1024)

/** What the control plane asks of the shell that forked it, over the port between the two: never secrets of others, one answer each. */
export const KeychainRequest = z.object({
  keychain: z.enum(['seal', 'open']),
  /** Names the answer. */
  id: z.number().int(),
  /** Base64: the secret to seal, or what was sealed. */
  data: base64,
})
export type KeychainRequest = z.infer<typeof KeychainRequest>

/** `data` in base64, or why there is none in one sentence. */
export const KeychainAnswer = z.object({
  keychain: z.literal('answer'),
  id: z.number().int(),
  data: base64.optional(),
  problem: z.string().max(400).optional(),
})
export type KeychainAnswer = z.infer<typeof KeychainAnswer>
