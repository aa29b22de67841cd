const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** RFC 1123 label, lower case, 1 to 63 characters: names of hosts, VMs and images. */
export const isName = (text: string): boolean => LABEL.test(text)

/** 32 lowercase hex characters: ids of everything. */
export const isId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text)

/** SHA-256 in lowercase hex. */
export const isSha256 = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)

/** An SSH fingerprint as OpenSSH prints it: `SHA256:` and 43 base64 characters. */
export const isFingerprint = (text: string): boolean => /^SHA256:[A-Za-z0-9+/]{43}$/.test(text)

/** The name a guest is reached and certified by: `<tenant>.<name>`. */
export const connectName = (tenant: string, name: string): string => `${tenant}.${name}`
