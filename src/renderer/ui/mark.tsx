/** The anvil. */
export function EitriMark({ size }: { size: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden focusable="false">
      <rect width="32" height="32" rx="7.5" className="fill-ink dark:fill-hover" />
      <path
        d="M5.5 10.5h21v3.3c-3.5.3-5.7 1.5-6.6 3.7v1.8h3.1v3.2H9v-3.2h3.1v-1.8c-1-2.3-3.2-3.4-6.6-3.7z"
        className="fill-[#f0935a]"
      />
    </svg>
  )
}
