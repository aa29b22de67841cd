import { z } from 'zod'

const ADDRESS_CHARS = 2_048

/** `eitri://…` of a place in the app: what addresses need, and nothing that a shell or a page could run. */
export const DesktopAddress = z
  .string()
  .max(ADDRESS_CHARS)
  .regex(/^eitri:\/\/[A-Za-z0-9._~%/?=&+:,;@!*'()-]*$/i)

/** The first address of ours among the arguments a desktop starts a program with; undefined = there is none. */
export const linkIn = (args: readonly string[]): string | undefined =>
  args.find((arg) => DesktopAddress.safeParse(arg).success)
