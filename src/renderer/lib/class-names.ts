export const cx = (...parts: (string | false | undefined)[]): string => parts.filter(Boolean).join(' ')
