/** Whose address it is, for people; one that is no address stands for itself. */
export const webHost = (url: string): string => URL.parse(url)?.host || url
