/**
 * Swaps the one-time token of the address's fragment (`#t=TOKEN`) for the session cookie and drops it from the address.
 * Answers whether this window may talk: false only when a token was there and was refused.
 */
export async function signIn(): Promise<boolean> {
  const token = new URLSearchParams(location.hash.slice(1)).get('t')
  if (token === null) return true
  history.replaceState(null, '', location.pathname + location.search)
  try {
    const answer = await fetch('/auth', {
      method: 'POST',
      body: JSON.stringify({ token }),
      headers: { 'content-type': 'application/json' },
    })
    return answer.ok
  } catch {
    return false
  }
}
