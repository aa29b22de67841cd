declare const __EITRI_VERSION__: string | undefined
declare const __EITRI_BUILD_DIGEST__: string | undefined

/** What this agent is. `digest` is empty when it runs from source. */
export const BUILD_INFO = {
  version: typeof __EITRI_VERSION__ === 'undefined' ? '0.1.0-dev' : __EITRI_VERSION__,
  digest: typeof __EITRI_BUILD_DIGEST__ === 'undefined' ? '' : __EITRI_BUILD_DIGEST__,
} as const
