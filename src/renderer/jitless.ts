import { config } from 'zod'

// Zod's probe for `new Function` is reported as a violation by the page's policy. Imported before any schema is made.
config({ jitless: true })
