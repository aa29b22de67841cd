/** A field as the page has it. */
export interface TypedField {
  label: string
  value: string
  type: string
}

/** Of these nothing is copied: secrets, and what holds no words. */
const SILENT: ReadonlySet<string> = new Set(['password', 'hidden', 'checkbox', 'radio', 'file', 'button', 'submit'])

/** What stands in fields as `label: value` lines; empty = nothing anybody would miss. */
export const typedText = (fields: readonly TypedField[]): string =>
  fields
    .filter(({ type, value }) => !SILENT.has(type) && value.trim() !== '')
    .map(({ label, value }) => (label === '' ? value : `${label}: ${value}`))
    .join('\n')

/** The fields inside, in order. */
export const fieldsIn = (root: Element): TypedField[] =>
  [...root.querySelectorAll<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>('input, textarea, select')].map(
    (field) => ({
      label: field.labels?.[0]?.textContent?.trim() || (field.getAttribute('aria-label') ?? ''),
      value: field.value,
      type: field.type,
    }),
  )
